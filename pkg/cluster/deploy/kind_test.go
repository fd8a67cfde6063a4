package deploy_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/image"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// The environment of TestKind: a kind cluster of the user, with --cloud-provider=external for its kubelets.
const (
	envKubeconfig = "VSPHERE_SANDBOX_TEST_KIND_KUBECONFIG" // of the cluster
	envGateway    = "VSPHERE_SANDBOX_TEST_KIND_GATEWAY"    // this machine's address as the nodes reach it
	envProgram    = "VSPHERE_SANDBOX_TEST_KIND_PROGRAM"    // vsphere-sandbox, with csi-sidecars beside it
	envUpstream   = "VSPHERE_SANDBOX_TEST_KIND_UPSTREAM"   // optional: upstream's manifest and its program, "FILE,FILE"
)

// given is a cluster that the user created.
type given struct {
	config *rest.Config
	client kubernetes.Interface
}

func (g given) Client() kubernetes.Interface { return g.client }
func (g given) REST() *rest.Config           { return rest.CopyConfig(g.config) }
func (g given) Server() string               { return g.config.Host }
func (g given) Addr() string                 { return strings.TrimPrefix(g.config.Host, "https://") }
func (g given) Kubeconfig() string           { return os.Getenv(envKubeconfig) }
func (g given) Context() string              { return "" }
func (g given) Token(path, addr, file string) error {
	return cluster.WriteToken(g.config, path, addr, file)
}

func inNode(ctx context.Context, node string, cmd ...string) ([]byte, error) {
	var said bytes.Buffer
	c := exec.CommandContext(ctx, "docker", append([]string{"exec", node}, cmd...)...)
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, said.String())
	}
	return out, nil
}

// swapped is a UUID as upstream's provider expects it in vCenter: the first three groups in the other byte order.
func swapped(uuid string) string {
	turn := func(s string) string {
		var out string
		for i := len(s); i > 0; i -= 2 {
			out += s[i-2 : i]
		}
		return out
	}
	g := strings.Split(strings.ToLower(uuid), "-")
	return strings.Join([]string{turn(g[0]), turn(g[1]), turn(g[2]), g[3], g[4]}, "-")
}

// topologyOf has a VM for every node: its UUID, its name, its address.
func topologyOf(t *testing.T, nodes []corev1.Node) *topology.Topology {
	t.Helper()
	var vms strings.Builder
	for _, n := range nodes {
		var ip string
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				ip = a.Address
			}
		}
		fmt.Fprintf(&vms, "\n      - {name: %s, hostname: %s, uuid: %q, nics: [{addresses: [%q]}]}", n.Name, n.Name, swapped(n.Status.NodeInfo.SystemUUID), ip)
	}
	top, err := topology.Load("kind.yaml", []byte(`
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: kind}
spec:
  vcenters:
  - name: vc
    datacenters:
    - name: dc
      clusters: [{name: c, hosts: [{name: "esx-{n}", replicas: 2}]}]
      vms:`+vms.String()+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// Pods of a real cluster: what runs, what becomes of faults, and what is left. It takes some minutes and Docker:
//
//	VSPHERE_SANDBOX_TEST_KIND_KUBECONFIG=… go test -run TestKind -v ./pkg/cluster/deploy
func TestKind(t *testing.T) {
	if os.Getenv(envKubeconfig) == "" {
		t.Skipf("%s names no kubeconfig of a cluster of kind", envKubeconfig)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(envKubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const host = "10.96.200.11"
	top := topologyOf(t, nodes.Items)
	lab := sim.StartWith(t, sim.Options{
		Topology: top, Addresses: []string{os.Getenv(envGateway) + ":0"},
		Names: func(vc string) []string { return []string{host, deploy.ServiceDNS(vc)} },
	})
	vc, _ := lab.VCenter("vc")

	began := time.Now()
	lap := func(what string) {
		t.Logf("%6.1fs %s", time.Since(began).Seconds(), what)
		began = time.Now()
	}
	program := os.Getenv(envProgram)
	set, err := image.Sandbox(ctx, program, filepath.Join(filepath.Dir(program), "csi-sidecars"))
	if err != nil {
		t.Fatal(err)
	}
	lap("images: " + strings.Join(set.Names(), " "))
	load(ctx, t, set, nodes.Items)
	lap("images are on the nodes")

	d, err := deploy.New(given{config, client}, deploy.Options{Speed: 10, Exec: inNode})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if found, err := d.Foreign(ctx); err != nil || len(found) > 0 {
		t.Fatal(found, err)
	}
	reached, err := d.VCenters(ctx, []deploy.Endpoint{
		{Name: "vc", Addr: netip.MustParseAddrPort(vc.Addr()), IP: netip.MustParseAddr(host)},
	})
	if err != nil {
		t.Fatal(err)
	}
	lap(fmt.Sprintf("vCenters: %+v", reached))
	configure := deploy.Config{
		CA: lab.CA(), Secret: map[string][]byte{host + ".username": []byte(vc.User()), host + ".password": []byte(vc.Password())},
		Conf: func(p deploy.ConfigLocation) ([]byte, error) {
			return yaml.Marshal(map[string]any{
				"global":  map[string]any{"caFile": p.CAFile, "secretName": p.SecretName, "secretNamespace": p.SecretNamespace, "insecureFlag": false},
				"vcenter": map[string]any{"vc": map[string]any{"server": reached[0].Host, "port": 443, "datacenters": []string{"dc"}}},
			})
		},
	}
	say := func(text string) { t.Logf("%6.1fs   %s", time.Since(began).Seconds(), text) }
	if err := d.CCM(ctx, deploy.CCM{Config: configure, Image: set.Name(image.CCM)}); err != nil {
		t.Fatal(err)
	}
	lap("ccm is applied")
	if err := d.Wait(ctx, say); err != nil {
		t.Fatal(err)
	}
	lap("ccm is ready")
	initialized(ctx, t, client, len(nodes.Items))
	lap("nodes are initialized")
	if err := d.CSI(ctx, deploy.CSI{
		Config: configure, Image: set.Name(image.CSI), Sidecars: set.Name(image.Sidecars), Policies: []string{"Gold"},
		Backend: deploy.BackendDir, VolumesDir: "/var/lib/vsphere-sandbox/volumes", SerialFile: serials(ctx, t, nodes.Items),
	}); err != nil {
		t.Fatal(err)
	}
	lap("csi is applied")
	if err := d.Wait(ctx, say); err != nil {
		t.Fatal(err)
	}
	lap("csi is ready")
	all, err := d.Components(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Component)
	}
	if want := []string{"ccm", "csi-attacher", "csi-controller", "csi-provisioner", "csi-resizer", "csi-snapshotter", "snapshot-controller"}; !slices.Equal(names, want) {
		t.Errorf("components are %q", names)
	}
	for _, of := range []string{"ccm", "csi-controller"} {
		data, err := d.Metrics(ctx, of)
		if err != nil || !bytes.Contains(data, []byte("go_goroutines")) {
			t.Errorf("metrics of %s: %d bytes, %v", of, len(data), err)
		}
	}
	lap("metrics are read")
	faults(ctx, t, d)
	lap("faults")
	if found, err := d.Foreign(ctx); err != nil || len(found) > 0 {
		t.Errorf("what is ours is foreign: %v, %v", found, err)
	}
	if err := d.Scale(ctx, 2); err != nil {
		t.Fatal(err)
	}
	if err := d.Wait(ctx, say); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, d, "ccm-2", func(c deploy.Change) bool { return c.Ready })
	lap("a second ccm is ready")
	if upstream := os.Getenv(envUpstream); upstream != "" {
		swap(ctx, t, d, client, configure, upstream, nodes.Items, say)
		lap("upstream's runs")
	}
	if err := d.Remove(ctx, false); err != nil {
		t.Fatal(err)
	}
	lap("removed")
	left(ctx, t, client)
}

// load imports the images on every node.
func load(ctx context.Context, t *testing.T, set *image.Set, nodes []corev1.Node) {
	t.Helper()
	for _, n := range nodes {
		there, err := inNode(ctx, n.Name, "ctr", "--namespace", "k8s.io", "images", "ls", "-q")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(set.Names(), func(name string) bool { return !slices.Contains(strings.Fields(string(there)), name) }) {
			continue // the tag is a hash of the content
		}
		r, w := io.Pipe()
		c := exec.CommandContext(ctx, "docker", "exec", "-i", n.Name, "ctr", "--namespace", "k8s.io", "images", "import", "-")
		c.Stdin = r
		go func() { w.CloseWithError(set.Write(ctx, w)) }()
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// serials gives every node the serial number of its VM, as a file.
func serials(ctx context.Context, t *testing.T, nodes []corev1.Node) string {
	t.Helper()
	const file = "/var/lib/vsphere-sandbox/serial"
	for _, n := range nodes {
		uuid := strings.ReplaceAll(swapped(n.Status.NodeInfo.SystemUUID), "-", "")
		if _, err := inNode(ctx, n.Name, "sh", "-c", "mkdir -p $(dirname $1); echo VMware-$2 >$1", "sh", file, uuid); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// initialized waits until no node is tainted any more.
func initialized(ctx context.Context, t *testing.T, client kubernetes.Interface, want int) {
	t.Helper()
	w, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	done := map[string]bool{}
	for len(done) < want {
		select {
		case e := <-w.ResultChan():
			if n, ok := e.Object.(*corev1.Node); ok && strings.HasPrefix(n.Spec.ProviderID, "vsphere://") &&
				!slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return strings.Contains(t.Key, "uninitialized") }) {
				done[n.Name] = true
			}
		case <-ctx.Done():
			t.Fatalf("nodes that are initialized: %v", done)
		}
	}
}

func await(ctx context.Context, t *testing.T, d *deploy.Deployment, component string, is func(deploy.Change) bool) deploy.Change {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	var found, last deploy.Change
	ok := false
	if err := d.Watch(ctx, func(c deploy.Change) {
		if c.Component == component {
			last = c
		}
		if !ok && c.Component == component && is(c) {
			found, ok = c, true
			cancel()
		}
	}); err != nil {
		t.Fatal(err)
	}
	if !ok {
		t.Fatalf("%s: it is %+v", component, last)
	}
	return found
}

func faults(ctx context.Context, t *testing.T, d *deploy.Deployment) {
	t.Helper()
	var log bytes.Buffer
	following, end := context.WithCancel(ctx)
	followed := make(chan error)
	go func() { followed <- d.Logs(following, "csi-attacher", &log) }()
	before := await(ctx, t, d, "csi-attacher", func(c deploy.Change) bool { return c.State == deploy.Running })
	if err := d.Kill(ctx, "csi-attacher"); err != nil {
		t.Fatal(err)
	}
	after := await(ctx, t, d, "csi-attacher", func(c deploy.Change) bool { return c.State == deploy.Running && c.ContainerID != before.ContainerID })
	if after.Restarts != before.Restarts+1 || after.ExitCode != 137 {
		t.Errorf("after a kill: %+v", after)
	}
	if err := d.Pause(ctx, "ccm"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Metrics(ctx, "ccm"); err == nil {
		t.Error("a program that is paused shows its metrics")
	}
	if err := d.Resume(ctx, "ccm"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Metrics(ctx, "ccm"); err != nil {
		t.Error(err)
	}
	pod := await(ctx, t, d, "ccm", func(c deploy.Change) bool { return c.Ready }).Pod
	if err := d.Restart(ctx, "ccm"); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, d, "ccm", func(c deploy.Change) bool { return c.Ready && c.Pod != pod })
	end()
	if err := <-followed; err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "Connected to CSI driver"); n != 2 {
		t.Errorf("the logs of %d processes, not 2, are in:\n%s", n, log.String())
	}
}

// swap runs upstream's release manifest as it is.
func swap(ctx context.Context, t *testing.T, d *deploy.Deployment, client kubernetes.Interface, c deploy.Config, upstream string, nodes []corev1.Node, say func(string)) {
	t.Helper()
	file, program, _ := strings.Cut(upstream, ",")
	manifest, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name, err := deploy.CCMImage(manifest)
	if err != nil {
		t.Fatal(err)
	}
	set, err := image.FromProgram(ctx, program, "/bin/vsphere-cloud-controller-manager", name)
	if err != nil {
		t.Fatal(err)
	}
	load(ctx, t, set, nodes)
	if err := d.CCM(ctx, deploy.CCM{Config: c, Manifest: manifest}); err != nil {
		t.Fatal(err)
	}
	if err := d.Wait(ctx, say); err != nil {
		t.Fatal(err)
	}
	// It initializes a node again.
	n := nodes[len(nodes)-1]
	if err := client.CoreV1().Nodes().Delete(ctx, n.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := inNode(ctx, n.Name, "systemctl", "restart", "kubelet"); err != nil {
		t.Fatal(err)
	}
	initialized(ctx, t, client, len(nodes))
	var log bytes.Buffer
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := d.Logs(short, "ccm", &log); err != nil || !strings.Contains(log.String(), "Successfully initialized node "+n.Name) {
		t.Errorf("%v: upstream's log:\n%s", err, log.String())
	}
	if _, err := d.Metrics(ctx, "ccm"); err == nil || !strings.Contains(err.Error(), "ServiceAccount") {
		t.Errorf("metrics of upstream's: %v", err)
	}
}

// left looks for what should be gone.
func left(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	t.Helper()
	namespaces, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: deploy.ManagedByLabel + "=" + deploy.ManagedBy})
	if err != nil || len(namespaces.Items) > 0 {
		t.Errorf("%d namespaces are left, %v", len(namespaces.Items), err)
	}
	sets, err := client.AppsV1().DaemonSets("kube-system").List(ctx, metav1.ListOptions{})
	if err != nil || len(sets.Items) != 1 {
		t.Errorf("%d DaemonSets are left beside kube-proxy, %v", len(sets.Items)-1, err)
	}
}

// verified keeps the test honest: the certificate is one for the address in the cluster.
func TestNamesAreVerifiable(t *testing.T) {
	top, err := topology.Load("small.yaml", []byte(`
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: small}
spec:
  vcenters:
  - name: vc
    datacenters: [{name: dc, clusters: [{name: c, hosts: [{name: esx}]}]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	lab := sim.StartWith(t, sim.Options{Topology: top, Names: func(vc string) []string { return []string{"10.96.0.9", deploy.ServiceDNS(vc)} }})
	vc, _ := lab.VCenter("vc")
	block, _ := pem.Decode(vc.Certificate())
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"10.96.0.9", "vc.vsphere-sandbox.svc"} {
		if err := cert.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
}
