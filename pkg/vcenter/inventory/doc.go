// Package inventory reads chosen VMs of a vCenter, with what binds them to nodes: identities, names and addresses, power,
// place, region and zone.
//
//	inv, err := inventory.Read(ctx, connection, inventory.Selection{Folders: []string{"k8s"}, Tags: []string{"env:prod"}}, inventory.Categories{Region: "k8s-region", Zone: "k8s-zone"})
//	for _, vm := range inv.VMs {
//		fmt.Println(vm.Path, vm.UUID, vm.Hostname, vm.Region, vm.Zone)
//	}
//
// It reads once, with few calls regardless of the number of VMs; provider/inventory follows changes. It writes only a view, which
// it removes.
//
// Floor 2, inside pkg/vcenter.
package inventory
