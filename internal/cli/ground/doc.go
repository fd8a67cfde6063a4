// Package ground is the flags by which a command chooses what Kubernetes cluster a sandbox has.
//
//	var f ground.Flags
//	f.Bind(cmd)        // --cluster embedded, kind
//	f.BindOutside(cmd) // and existing, with what belongs to that: for "up"
//	err := f.Check()
//
// Floor 5.
package ground
