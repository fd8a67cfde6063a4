// Package inventory reads chosen VMs of a vCenter, with what binds them to nodes: identities, names and addresses, power,
// place, region and zone.
//
//	inv, err := inventory.Read(ctx, connection, inventory.Selection{Folders: []string{"k8s"}, Tags: []string{"env:prod"}}, inventory.Categories{Region: "k8s-region", Zone: "k8s-zone"})
//	for _, vm := range inv.VMs {
//		fmt.Println(vm.Path, vm.UUID, vm.Hostname, vm.Region, vm.Zone)
//	}
//
// It is one reading, made with few calls whatever the number of VMs; who wants to follow changes has provider/inventory. It
// writes nothing but a view, which it removes.
//
// Floor 2, inside pkg/vcenter.
package inventory
