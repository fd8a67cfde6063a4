// Package apis serves the smaller APIs of vcsim, each beside the corrected ones of pkg/sim: modules, drafts and images of clusters,
// key providers, Supervisors, data sets of VMs, access to the appliance, consumption domains; leases of files; the lists of methods
// and of counters.
//
// It registers nothing until the first call to one of them.
//
// Floor 2, inside pkg/sim.
package apis
