// Package profile is the storage policy service (PBM) of a simulated vCenter at /pbm: its profiles, and which datastores meet
// them by their tags and types. Package policy has the rules.
//
// vcsim shares the objects of its default profiles among all vCenters of a process, and changes them while clients read them; its
// datastores meet every profile. Here each vCenter has separate profiles, which are never changed in place, and a policy has the
// same identifier in each run.
//
// Floor 2.
package profile
