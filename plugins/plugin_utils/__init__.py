"""What plugins of the control node share: they may import Ansible, modules may not."""
