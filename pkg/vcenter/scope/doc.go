// Package scope guards VMs that are not ours against being written to.
//
// Nothing is written unless writes are allowed at all and the VM lies in one of the folders, or carries one of the tags, that
// were named; and what is written is in a journal first, with the way back.
//
//	g := scope.Guard{Scope: scope.Scope{AllowWrites: true, Folders: []string{"k8s/test"}}, Journal: j}
//	err := g.Write(ctx, vm, off, on, func(ctx context.Context) error { … })
//
// Floor 2, inside pkg/vcenter.
package scope
