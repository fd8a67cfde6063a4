// Package record converts selected parts of vCenters to a topology, which a sandbox runs offline.
//
//	r, err := record.Record(ctx, connections, record.Options{Name: "prod", Selection: inventory.Selection{Folders: []string{"k8s"}}})
//	if err != nil { … }
//	os.WriteFile("prod.yaml", r.File, 0o600)
//
// It records the selected VMs with their hardware, identities, addresses, folders, pools and tags; every host of their compute
// resources; the datastores of those hosts; the networks of the VMs; regions and zones. It does not record accounts, permissions,
// storage policies, disks, snapshots and advanced settings.
//
// With [Pseudonyms] the file has no name and no address of the vCenter.
//
// Floor 2, inside pkg/vcenter: it also imports pkg/topology.
package record
