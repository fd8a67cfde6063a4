// Package scope limits writes to VMs of existing vCenters.
//
// A write needs writes to be allowed, and a VM in one of the listed folders or with one of the listed tags. It is recorded in a
// journal first, with its undo.
//
//	g := scope.Guard{Scope: scope.Scope{AllowWrites: true, Folders: []string{"k8s/test"}}, Journal: j}
//	err := g.Write(ctx, vm, off, on, func(ctx context.Context) error { … })
//
// Floor 2, inside pkg/vcenter.
package scope
