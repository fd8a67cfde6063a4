package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
)

// nodeDir has the program of the nodes that hack/kind-node builds: all of Kubernetes, with etcd.
const nodeDir = "hack/kind-node/programs/kube"

// nodeModFile returns the name of the module file in nodeDir for a release. go.mod is that of kind's default node image.
func nodeModFile(r release.Release) string {
	if r.Version == release.Kind() {
		return "go.mod"
	}
	return r.Name() + ".mod"
}

// writeNode writes the module file of the nodes' program: with the versions in the module file of the Kubernetes program, so
// that the two share what is compiled.
func writeNode(r release.Release) error {
	program, err := parse(filepath.Join(dir, r.ModFile()))
	if err != nil {
		return err
	}
	pins, err := pins(r.Version)
	if err != nil {
		return err
	}
	require, replace := map[string]string{}, map[string]string{}
	for _, m := range program.Require {
		if m.Path != repository {
			require[m.Path] = m.Version
		}
	}
	for _, m := range program.Replace {
		if m.Old.Path != repository {
			replace[m.Old.Path] = m.New.Path + " " + m.New.Version
		}
	}
	// Staging modules that only kubeadm and kube-proxy need.
	for path, version := range pins {
		if _, replaced := replace[path]; !replaced && strings.HasPrefix(path, "k8s.io/") && version == r.Staging() {
			replace[path] = path + " " + version
		}
	}
	file := filepath.Join(nodeDir, nodeModFile(r))
	if err := writeModFile(file, r, require, replace); err != nil {
		return err
	}
	cmd := exec.Command("go", "mod", "tidy", "-modfile="+nodeModFile(r))
	cmd.Dir, cmd.Stderr = nodeDir, os.Stderr
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	return cmd.Run()
}
