// Package profile is the storage policy service (PBM) of a simulated vCenter, which answers at /pbm: its profiles, and
// which datastores meet them by their tags and types. The rules themselves are package policy's.
//
// vcsim's shares the objects of its default profiles among all vCenters of a process, and hands them out while it changes
// them; to it every datastore meets every profile. Here each vCenter has its own, a profile that was handed out is never
// changed, and the same policy has the same identifier in each run.
//
// Floor 2.
package profile
