package existing

// Labels by which everything that was made for a sandbox is found again. What the chart has says that it is a part of the
// program, and of which sandbox; what the sandbox makes by itself in the cluster (package deploy, light nodes) says that it is
// managed by it, and of which sandbox. There is one sandbox in a cluster, see [Cluster.Guard], but another one may have come
// by the time that something is removed.
const (
	partOfLabel    = "app.kubernetes.io/part-of"
	instanceLabel  = "app.kubernetes.io/instance"
	managedByLabel = "app.kubernetes.io/managed-by"
	program        = "vsphere-sandbox"

	selectAnyChart = partOfLabel + "=" + program
)

// NamespaceOf is the namespace of the sandbox of a name.
func NamespaceOf(name string) string { return program + "-" + name }

// selectChart selects what the chart has made for a sandbox.
func selectChart(name string) string { return selectAnyChart + "," + instanceLabel + "=" + name }

// selectManaged selects what a sandbox has made by itself.
func selectManaged(name string) string {
	return managedByLabel + "=" + program + "," + instanceLabel + "=" + name
}

// chartLabels are those of objects that are installed with the chart and are not in it.
func chartLabels(name string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name": program, partOfLabel: program, instanceLabel: name, managedByLabel: installer,
	}
}
