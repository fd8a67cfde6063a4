package existing

// Labels by which everything that was made for a sandbox is found again. What the chart has says that it is a part of the
// program, and of which sandbox; what the sandbox makes by itself in the cluster (package deploy, light nodes) says that it is
// managed by it. There is one sandbox in a cluster, see [Cluster.Guard].
const (
	partOfLabel    = "app.kubernetes.io/part-of"
	instanceLabel  = "app.kubernetes.io/instance"
	managedByLabel = "app.kubernetes.io/managed-by"
	program        = "vsphere-sandbox"

	selectAnyChart = partOfLabel + "=" + program
	selectManaged  = managedByLabel + "=" + program
)

// NamespaceOf is the namespace of the sandbox of a name.
func NamespaceOf(name string) string { return program + "-" + name }

// selectChart selects what the chart has made for a sandbox.
func selectChart(name string) string { return selectAnyChart + "," + instanceLabel + "=" + name }

// chartLabels are those of objects that are installed with the chart and are not in it.
func chartLabels(name string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name": program, partOfLabel: program, instanceLabel: name, managedByLabel: installer,
	}
}
