package kubectl

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// world is one whose sandbox has a kubeconfig, for the API server at that URL.
func world(t *testing.T, server string) clitest.World {
	t.Helper()
	w := clitest.ZonesUSEU()
	w.Status.Dir = t.TempDir()
	w.Status.Kubeconfig = filepath.Join(w.Status.Dir, "kubeconfig")
	text := `apiVersion: v1
kind: Config
current-context: vsphere-sandbox-default
clusters: [{name: c, cluster: {server: "` + server + `"}}]
contexts: [{name: vsphere-sandbox-default, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
`
	if err := os.WriteFile(w.Status.Kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestRun(t *testing.T) {
	w := world(t, "https://127.0.0.1:1")
	s := clitest.Serve(t, w)
	e := clitest.NewEnv(s)
	released := false
	e.Release = func() { released = true }
	env := map[string]string{}
	var got []string
	status := 0
	run := func(ctx context.Context, o *options) error {
		o.setenv = func(k, v string) error { env[k] = v; return nil }
		o.program = func(context.Context, *iostreams.Streams, api.Status) (string, error) { return "/program", nil }
		o.exec = func(program string, args ...string) error {
			got = append([]string{program}, args...)
			if status != 0 {
				return report.Exit(status)
			}
			return nil
		}
		return run(ctx, o)
	}
	args := []string{"get", "nodes", "-o", "json", "--name", "x", "-h"}
	if r := e.Run(t.Context(), NewCmdKubectl(e.Deps, run), args...); r.Exit != 0 {
		t.Fatalf("ended with %+v", r)
	}
	if d := cmp.Diff(append([]string{"/program", "kubectl"}, args...), got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"KUBECONFIG": w.Status.Kubeconfig, "KUBECACHEDIR": filepath.Join(w.Status.Dir, "kubectl-cache"), "GOGC": collect}, env); d != "" {
		t.Error(d)
	}
	if info, err := os.Stat(env["KUBECACHEDIR"]); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its cache: %v, %v", info, err)
	}
	if !released {
		t.Error("Ctrl-C was not given back")
	}
	status = 7
	if r := e.Run(t.Context(), NewCmdKubectl(e.Deps, run), "diff"); r.Exit != 7 || r.Message != "" {
		t.Errorf("ended with %+v", r)
	}
}

// Neither program has a flag --name in front of its commands, so it was meant for this one.
func TestNameFirst(t *testing.T) {
	e := clitest.NewEnv(nil)
	for args, try := range map[string]string{
		"--name x get pods": "vsphere-sandbox --name x kubectl get pods", "--name=x get pods": "vsphere-sandbox --name x kubectl get pods",
		"--name": "vsphere-sandbox --name NAME kubectl",
	} {
		if r := e.Run(t.Context(), NewCmdKubectl(e.Deps, nil), strings.Fields(args)...); r.Exit != report.Usage || r.Try != try {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if r := e.Run(t.Context(), NewCmdEtcdctl(e.Deps, nil), "--name", "x", "get", "/"); r.Exit != report.Usage || r.Try != "vsphere-sandbox --name x etcdctl get /" {
		t.Errorf("%+v", r)
	}
}

func TestWithoutASandbox(t *testing.T) {
	e := clitest.NewEnv(nil)
	ran := false
	run := func(ctx context.Context, o *options) error {
		o.setenv = func(string, string) error { return nil }
		o.program = func(context.Context, *iostreams.Streams, api.Status) (string, error) { return "/program", nil }
		o.exec = func(string, ...string) error { ran = true; return nil }
		return run(ctx, o)
	}
	for args, want := range map[string]bool{
		"": true, "get --help": true, "help get": true, "options": true, "version --client": true,
		"version": false, "get nodes": false, "config view": false,
	} {
		ran = false
		r := e.Run(t.Context(), NewCmdKubectl(e.Deps, run), strings.Fields(args)...)
		if ran != want || !want && r.Code != "no-sandbox" {
			t.Errorf("%q: ran = %v, ended with %+v", args, ran, r)
		}
	}
}

func TestNoKubeconfigYet(t *testing.T) {
	e := clitest.NewEnv(clitest.Serve(t, clitest.ZonesUSEU()))
	if r := e.Run(t.Context(), NewCmdKubectl(e.Deps, nil), "get", "nodes"); r.Code != "unavailable" || r.Exit != report.Failure {
		t.Errorf("ended with %+v", r)
	}
}

// The program's own completion is asked: a shell script stands in.
func TestCompletion(t *testing.T) {
	t.Setenv("KUBECONFIG", "") // the command sets it again
	t.Setenv("KUBECACHEDIR", t.TempDir())
	w := world(t, "https://127.0.0.1:1")
	w.Status.KubernetesProgram = filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(w.Status.KubernetesProgram, []byte("#!/bin/sh\n[ \"$*\" = 'kubectl __complete config current' ] && printf 'current-context\\tDisplay it\\n:4\\n'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	e := clitest.NewEnv(clitest.Serve(t, w))
	cmd := NewCmdKubectl(e.Deps, nil)
	cmd.SetContext(t.Context())
	words, directive := cmd.ValidArgsFunction(cmd, []string{"config"}, "current")
	if len(words) != 1 || !strings.HasPrefix(words[0], "current-context") || directive != cobra.ShellCompDirectiveNoFileComp {
		t.Errorf("words %q, directive %d", words, directive)
	}
	e = clitest.NewEnv(nil)
	cmd = NewCmdKubectl(e.Deps, nil)
	cmd.SetContext(t.Context())
	if words, _ := cmd.ValidArgsFunction(cmd, []string{"get"}, ""); words != nil {
		t.Errorf("words %q without a sandbox", words)
	}
}

// etcdctl gets the address and certificates of the sandbox's etcd, and needs a sandbox only for what asks etcd.
func TestEtcdctl(t *testing.T) {
	w := world(t, "https://127.0.0.1:1")
	w.Status.Ground.Cluster = api.ClusterEmbedded
	e := clitest.NewEnv(clitest.Serve(t, w))
	env, ran := map[string]string{}, ""
	run := func(ctx context.Context, o *options) error {
		o.setenv = func(k, v string) error { env[k] = v; return nil }
		o.program = func(context.Context, *iostreams.Streams, api.Status) (string, error) { return "/program", nil }
		o.exec = func(program string, args ...string) error {
			ran = strings.Join(append([]string{program}, args...), " ")
			return nil
		}
		return runEtcdctl(ctx, o)
	}
	if r := e.Run(t.Context(), NewCmdEtcdctl(e.Deps, run), "get", "/"); r.Code != "unavailable" || ran != "" {
		t.Errorf("before etcd serves: ended with %+v, ran %q", r, ran)
	}
	if err := os.WriteFile(filepath.Join(w.Status.Dir, "etcd.endpoint"), []byte("https://127.0.0.1:2"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := e.Run(t.Context(), NewCmdEtcdctl(e.Deps, run), "get", "/", "--prefix"); r.Exit != 0 || ran != "/program etcdctl get / --prefix" {
		t.Errorf("ended with %+v, ran %q", r, ran)
	}
	pki := func(name string) string { return filepath.Join(w.Status.Dir, "pki", name) }
	if d := cmp.Diff(map[string]string{
		"ETCDCTL_ENDPOINTS": "https://127.0.0.1:2", "ETCDCTL_CACERT": pki("etcd-ca.crt"),
		"ETCDCTL_CERT": pki("etcd-client.crt"), "ETCDCTL_KEY": pki("etcd-client.key"),
	}, env); d != "" {
		t.Error(d)
	}
	e = clitest.NewEnv(nil)
	for args, want := range map[string]bool{"": true, "version": true, "get --help": true, "get /": false} {
		ran = ""
		if r := e.Run(t.Context(), NewCmdEtcdctl(e.Deps, run), strings.Fields(args)...); (ran != "") != want {
			t.Errorf("%q without a sandbox: ran %q, ended with %+v", args, ran, r)
		}
	}
}
