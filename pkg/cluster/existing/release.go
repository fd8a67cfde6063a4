package existing

// ControlPort is where the pod's control API answers to port-forwards unless the chart's sandbox.controlPort says otherwise.
const ControlPort = 10280

// ReleaseOf is the release that installs the sandbox of a name.
func ReleaseOf(name string) Release { return Release{Name: name, Namespace: NamespaceOf(name)} }
