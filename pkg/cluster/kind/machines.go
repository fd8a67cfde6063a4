package kind

import (
	"path/filepath"
	"strconv"
)

// prefix is what kind's clusters of ours begin with.
const prefix = "vsphere-sandbox-"

// clusterLabel is what kind labels its containers with.
const clusterLabel = "io.x-k8s.kind.cluster"

// ClusterName is what kind calls the cluster of the sandbox of that name.
func ClusterName(sandbox string) string { return prefix + sandbox }

// machine is one container that will be a node.
type machine struct {
	Node
	vm        bool // the extra control plane is none
	container string
	role      string // kind's: control-plane for one, worker for the others
	dir       string // of the files that are mounted in it
}

// machines gives every node its container, named as kind does: by role, counted in the order of the configuration.
func machines(o Options) []machine {
	cluster := ClusterName(o.Name)
	head := -1 // the one that runs the control plane
	for i, n := range o.Nodes {
		if n.ControlPlane {
			head = i
			break
		}
	}
	var all []machine
	if head < 0 {
		name := cluster + "-control-plane"
		all = append(all, machine{Node: Node{Name: name, ControlPlane: true}, container: name, role: "control-plane"})
	}
	workers := 0
	for i, n := range o.Nodes {
		m := machine{Node: n, vm: true, role: "worker", dir: filepath.Join(o.Dir, "nodes", n.Name)}
		if m.Serial == "" {
			m.Serial, _ = Serial(n.UUID) // checked before
		}
		if m.ByID == "" {
			m.ByID = filepath.Join(m.dir, "by-id")
		}
		if i == head {
			m.role, m.container = "control-plane", cluster+"-control-plane"
		} else {
			workers++
			m.container = cluster + "-worker"
			if workers > 1 {
				m.container += strconv.Itoa(workers)
			}
		}
		all = append(all, m)
	}
	return all
}
