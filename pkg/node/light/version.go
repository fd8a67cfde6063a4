package light

import "runtime/debug"

// containerRuntime is what a light node says that its containers are run by: "kwok://v0.8.0".
func containerRuntime() string {
	version := "unknown" // as in most test binaries
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "sigs.k8s.io/kwok" && dep.Version != "" {
				version = dep.Version
			}
		}
	}
	return "kwok://" + version
}
