// Package fleet is the sandbox's side of light nodes: a [Guest] for each VM, which follows the VM as a separate kubelet
// would, and a feed for the one program that replaces all those kubelets.
//
//	f := fleet.New()
//	defer f.Close()
//	program := child.Start(spec, f.Program) // reads f.Feed(), over HTTP
//	g := f.Guest("us/vm-21", fleet.Options{Boot: boot, Notify: notify})
//	g.Observe(vm.NodeVM())
//
// Package light is that program.
//
// Floor 2.
package fleet
