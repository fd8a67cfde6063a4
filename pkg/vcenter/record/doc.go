// Package record makes a topology of chosen parts of real vCenters, which a sandbox runs offline.
//
//	r, err := record.Record(ctx, connections, record.Options{Name: "prod", Selection: inventory.Selection{Folders: []string{"k8s"}}})
//	if err != nil { … }
//	os.WriteFile("prod.yaml", r.File, 0o600)
//
// What is recorded: the chosen VMs with their hardware, identities, addresses, folders, pools and tags; every host of the
// compute resources they run on; the datastores that those mount; the networks that the VMs are on; regions and zones.
// What is not: accounts, permissions, storage policies, disks, snapshots and advanced settings.
//
// With [Pseudonyms] no name and no address of the vCenter is in the file.
//
// Floor 2, inside pkg/vcenter: it imports pkg/topology, too.
package record
