# Machines by their names, and the inventory that `tofu output -json inventory` prints of them. A machine keeps its name,
# node_id and rack for life; nothing is counted, so one that is added or removed changes no other.
variable "machines" {
  type = map(object({
    address = string
    groups  = set(string)
    node_id = optional(number)
    rack    = optional(string)
  }))
}

output "inventory" {
  value = {
    for group in setunion([for machine in var.machines : machine.groups]...) : group => {
      hosts = {
        for name, machine in var.machines : name => {
          for variable, value in {
            ansible_host  = machine.address
            kafka_node_id = machine.node_id
            kafka_rack    = machine.rack
          } : variable => value if value != null
        } if contains(machine.groups, group)
      }
    }
  }
}
