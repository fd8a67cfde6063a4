// Package smoke judges one release of a cloud controller manager, as its release engineer would before it goes out: the
// scenarios of a suite, and what no scenario of the catalogue asks for by itself: that the program says which version it
// is, that it takes over a live cluster from the release before, that another replica takes over from it, that it ends in
// order, and what it costs the vCenters beside the release before. [Compare] has several of them run the same suite.
//
//	report := smoke.Run(ctx, smoke.Options{CCM: smoke.CCM{Source: "module:v1.36.0"}, Suite: suite, Boot: boot})
//	err := smoke.Table(os.Stdout, report)
//
// As much as can be is a scenario (scenarios/smoke): what is code here is what the language cannot say. A check that
// fails, and that is known to fail with that release, is told as such.
//
// Floor 4. How sandboxes are booted and programs are run is the caller's business.
package smoke
