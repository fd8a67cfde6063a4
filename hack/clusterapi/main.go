// Command clusterapi builds Cluster API's controllers and those of its provider for vSphere (test/clusterapi/manager) into the user's
// cache, puts their custom resource definitions beside them, and prints the folder. The first time it takes some minutes.
//
//	make cluster-api
//	dir=$(go run ./hack/clusterapi)   # $dir/manager, $dir/crds.yaml
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := build(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "clusterapi:", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}

// source is the module of the manager, in the repository.
const source = "test/clusterapi/manager"

func build(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(source); err != nil {
		return "", fmt.Errorf("run it in the repository: %w", err)
	}
	var names []string
	var crds [][]byte
	for _, m := range []struct{ module, folder string }{
		{"sigs.k8s.io/cluster-api", "config/crd/bases"},
		{"sigs.k8s.io/cluster-api", "controlplane/kubeadm/config/crd/bases"}, // which the provider watches
		{"sigs.k8s.io/cluster-api-provider-vsphere", "config/default/crd/bases"},
	} {
		name, text, err := definitions(ctx, m.module, m.folder)
		if err != nil {
			return "", err
		}
		if crds = append(crds, text); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	dir := filepath.Join(cache, "vsphere-sandbox", "cluster-api", strings.Join(names, "-"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "crds.yaml"), bytes.Join(crds, nil), 0o644); err != nil {
		return "", err
	}
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, "clusterapi: "+format+"\n", args...) }
	return dir, upstream.Toolchain{Progress: say}.BuildFolder(ctx, source, upstream.Program{Package: ".", Path: filepath.Join(dir, "manager")})
}

// definitions returns the version of a module, and the custom resource definitions in its folder as released, with the label that says
// which contract of Cluster API a version of a resource follows. Releases get that label by kustomize.
func definitions(ctx context.Context, module, folder string) (version string, text []byte, err error) {
	cmd := exec.CommandContext(ctx, "go", "-C", source, "list", "-mod=mod", "-m", "-json", module)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", nil, fmt.Errorf("go list -m %s: %w", module, err)
	}
	var m struct{ Version, Dir string }
	if err := json.Unmarshal(out, &m); err != nil {
		return "", nil, err
	}
	if m.Dir == "" { // not downloaded yet
		cmd := exec.CommandContext(ctx, "go", "-C", source, "mod", "download", module)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return "", nil, fmt.Errorf("go mod download %s: %w", module, err)
		}
		return definitions(ctx, module, folder)
	}
	files, err := filepath.Glob(filepath.Join(m.Dir, folder, "*.yaml"))
	if err == nil && len(files) == 0 {
		err = errors.New("no custom resource definitions in " + filepath.Join(m.Dir, folder))
	}
	if err != nil {
		return "", nil, err
	}
	for _, file := range files {
		one, err := os.ReadFile(file)
		if err != nil {
			return "", nil, err
		}
		label := "  labels: {cluster.x-k8s.io/v1beta1: v1beta1, cluster.x-k8s.io/v1beta2: v1beta2}\n"
		if strings.Contains(filepath.Base(file), "infrastructure.") {
			label = "  labels: {cluster.x-k8s.io/v1beta1: v1beta1}\n"
		}
		text = append(text, "---\n"...)
		text = append(text, bytes.Replace(one, []byte("\nmetadata:\n"), []byte("\nmetadata:\n"+label), 1)...)
	}
	return m.Version, text, nil
}
