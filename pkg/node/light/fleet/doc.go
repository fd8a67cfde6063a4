// Package fleet is the sandbox's side of light nodes: for each VM that is to be one a [Guest], which follows the VM as a
// kubelet in a process of its own would, and a feed that tells the one program that stands for all of them.
//
//	f := fleet.New()
//	defer f.Close()
//	program := child.Start(spec, f.Program) // reads f.Feed(), over HTTP
//	g := f.Guest("us/vm-21", fleet.Options{Boot: boot, Notify: notify})
//	g.Observe(vm.Machine())
//
// What the program does with what it reads is package light.
//
// Floor 2.
package fleet
