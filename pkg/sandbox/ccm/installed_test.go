package ccm

import (
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/installed"
)

// An installed release gets the arguments of its manifest, with the sandbox's addresses behind them, and the rights of its
// manifest alone.
func TestInstalled(t *testing.T) {
	text, err := os.ReadFile("../../cluster/installed/testdata/release.yaml")
	if err != nil {
		t.Fatal(err)
	}
	i, err := installed.Read("release.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	p := newProcesses(t)
	o := Options{Program: program.Program{Source: "module:v1.40.0", Path: "/bin/ccm"}, Installed: i, Replicas: 1}
	p.update(func() { p.running = o })
	r := &replica{name: Component, port: "4711", started: time.Now()}
	args := p.arguments(r, o, o.elects())
	for _, want := range []string{"--cloud-config=" + p.ConfigFile, "--v=2", "--kubeconfig=" + p.kubeconfig(Component), "--leader-elect=true"} {
		if !slices.Contains(args, want) {
			t.Errorf("no %s in %q", want, args)
		}
	}
	if given, ours := slices.Index(args, "--secure-port=10260"), slices.Index(args, "--secure-port=4711"); given < 0 || ours < given {
		t.Errorf("the port of this host does not replace that of the manifest: %q", args)
	}
	if slices.ContainsFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "--authentication-skip-lookup") || strings.Contains(a, "resource-namespace")
	}) {
		t.Errorf("it is not asked as it is installed: %q", args)
	}
	if spec := p.spec(r, o, true); !slices.Contains(spec.Env, "LEVEL=2") {
		t.Errorf("environment %q", spec.Env)
	}
	if urls := p.probes(r); !slices.Equal(urls, []string{"https://127.0.0.1:4711/healthz"}) {
		t.Errorf("probes %q", urls)
	}

	if err := p.grant(t.Context(), o, true); err != nil {
		t.Fatal(err)
	}
	client := p.Cluster().Client()
	role, err := client.RbacV1().ClusterRoles().Get(t.Context(), "ccm", metav1.GetOptions{})
	if err != nil || len(role.Rules) != 3 {
		t.Errorf("%+v, %v", role, err)
	}
	if a := p.Account(); a.Namespace != "clouds" || a.Name != "ccm" {
		t.Errorf("account %+v", a)
	}
	// Another program takes its place: nothing of the manifest is left.
	next := Options{Program: program.Program{Source: "builtin", Own: true}}
	if err := p.grant(t.Context(), next, false); err != nil {
		t.Fatal(err)
	}
	left, err := client.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
	if err != nil || slices.ContainsFunc(left.Items, func(r rbacv1.ClusterRole) bool { return r.Name == "ccm" }) {
		t.Errorf("left: %+v, %v", left.Items, err)
	}
}

// A release that serves no HTTPS is probed where it does listen, and is given no right to review tokens.
func TestInstalledWithoutHTTPS(t *testing.T) {
	i := &installed.Installation{Container: corev1.Container{Args: []string{"--secure-port=0", "--health-address=127.0.0.1:10267", "--leader-elect=false"}}}
	p, o := newProcesses(t), Options{Program: program.Program{Source: "./x", Path: "/bin/ccm"}, Installed: i, Replicas: 1}
	p.update(func() { p.running = o })
	r := &replica{name: Component, port: "4711", health: "4712"}
	args := p.arguments(r, o, o.elects())
	if slices.Contains(args, "--secure-port=4711") || !slices.Contains(args, "--health-address="+net.JoinHostPort(host, "4712")) || !slices.Contains(args, "--leader-elect=false") {
		t.Errorf("%q", args)
	}
	if urls := p.probes(r); !slices.Equal(urls, []string{"http://127.0.0.1:4712/healthz"}) {
		t.Errorf("probes %q", urls)
	}
}
