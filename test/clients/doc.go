// Package clients runs programs that others wrote in other languages against a simulated vCenter: Debian's pyvmomi, libvirt's
// ESX driver, fence agents and Ansible. A client that is not installed (python3-pyvmomi, libvirt-clients, fence-agents, ansible) is
// skipped, with the name of its package.
package clients
