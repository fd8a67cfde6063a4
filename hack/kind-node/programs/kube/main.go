// Command kube is all of Kubernetes in one program, which acts as the one that it is called: eight links to one file are
// a quarter of eight files, one compile and one layer of an image.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	// Time zones for CronJobs: a node has no zone files.
	_ "time/tzdata"

	// Metrics of the clients, and logs as JSON: what each of the programs imports in its own main.
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

func main() {
	all := programs()
	name := filepath.Base(os.Args[0])
	run, known := all[name]
	if !known {
		fmt.Fprintf(os.Stderr, "%s: call me by one of these names: %s\n", name, strings.Join(slices.Sorted(maps.Keys(all)), " "))
		os.Exit(2)
	}
	os.Exit(run())
}
