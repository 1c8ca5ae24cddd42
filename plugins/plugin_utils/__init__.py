"""What plugins of the controller share: they use Ansible itself, modules of hosts never do."""
