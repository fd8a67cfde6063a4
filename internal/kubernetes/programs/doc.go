// Package programs finds, checks and builds Kubernetes programs: the control plane and kubelets of one Kubernetes release
// each (the module kubernetes/).
//
//	source, err := programs.Parse("v1.35")
//	program, err := programs.Finder{}.Find(ctx, source)
//
// The default release comes with the main program: inside a release, beside a build. Others are in the user's cache folder,
// where [Finder.Fetch] puts them: it builds them with the Go toolchain, from the sources that the main program carries or was
// built from, and the modules of the release.
//
// Floor 0.
package programs
