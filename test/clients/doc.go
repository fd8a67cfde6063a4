// Package clients runs programs that others wrote in other languages against a simulated vCenter: Debian's pyvmomi and
// libvirt's ESX driver. A client that is not installed (python3-pyvmomi, libvirt-clients) is skipped, with the name of its
// package.
package clients
