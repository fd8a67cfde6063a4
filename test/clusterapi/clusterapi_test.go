package clusterapi

import (
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

const (
	// patience is how long a step may take: machine controllers retry after seconds.
	patience = 3 * time.Minute
	// joinTime is from the end of a machine's boot to its initialized Node.
	joinTime = 5 * time.Second
)

// world is a sandbox with Cluster API.
type world struct {
	*program.Sandbox
	t   *testing.T
	log string
}

// Machines of two vCenters come and go with the replicas of their deployments, and their nodes with them.
func TestMachines(t *testing.T) {
	dir := controllers(t)
	home := program.NewHome(t, program.Options{Binary: binary, As: as, Patience: 5 * time.Minute})
	t.Cleanup(func() { home.End(home.State, home.Tmp) })
	home.Must("--name", "capi", "up", "--detach", "--csi", "off", home.File("lab.yaml", read(t, page+"lab.yaml")))
	w := &world{Sandbox: home.Attach("capi"), t: t}
	w.Run("kubectl", "apply", "--server-side", "-f", home.File("crds.yaml", read(t, filepath.Join(dir, "crds.yaml"))))
	w.Run("kubectl", "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	w.manage(home, filepath.Join(dir, "manager"))
	w.Run("kubectl", "create", "secret", "generic", "lab-kubeconfig", "--type=cluster.x-k8s.io/secret", "--from-file=value="+w.Status().Kubeconfig)
	w.Run("kubectl", "apply", "-f", home.File("cluster.yaml", w.filled(read(t, page+"cluster.yaml"))))
	w.Run("kubectl", "patch", "cluster", "lab", "--subresource=status", "--patch-file", home.File("initialized.yaml", read(t, page+"initialized.yaml")), "--type=merge")
	w.Run("kubectl", "patch", "cluster", "lab", "--patch", `{"spec":{"paused":false}}`, "--type=merge")

	// A machine in each vCenter becomes an initialized node with the zone of its vCenter.
	us, eu := w.nodes("pool-us-", 1), w.nodes("pool-eu-", 1)
	for zone, n := range map[string]api.Node{"us-a": us[0], "eu-a": eu[0]} {
		if n.Zone != zone || !strings.HasPrefix(n.ProviderID, "vsphere://") {
			t.Errorf("%s is in %q with the ID %q, want %s", n.Name, n.Zone, n.ProviderID, zone)
		}
		w.joined(n.Name)
	}
	w.running(2)
	w.Run("kubectl", "wait", "--for=condition=Available", "machinedeployment", "--all", "--timeout=120s")
	if out := w.Run("govc", "--vcenter", "us", "cluster.module.ls"); strings.TrimSpace(out) == "" {
		t.Error("no cluster module keeps the machines apart")
	}

	// More of them, and fewer: VMs, Machines and Nodes agree.
	w.Run("kubectl", "scale", "machinedeployment/pool-us", "--replicas=3")
	for _, n := range w.nodes("pool-us-", 3) {
		w.joined(n.Name)
	}
	w.running(4)
	w.Run("kubectl", "scale", "machinedeployment/pool-us", "--replicas=1")
	w.nodes("pool-us-", 1)
	w.running(2)

	// All go with their cluster; the node that no machine stands for stays.
	w.Run("kubectl", "delete", "cluster", "lab", "--timeout=180s")
	w.nodes("pool-", 0)
	if out := w.Run("govc", "--vcenter", "us", "find", "/dc-us/vm/machines", "-type", "m"); strings.TrimSpace(out) != "" {
		t.Errorf("left in the vCenter: %s", out)
	}
	w.nodes("cp-1", 1)
}

// page is the folder of the tutorial, whose files the tests use.
const page = "../../tutorials/10-cluster-api/"

// controllers returns the folder of hack/clusterapi.
func controllers(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CLUSTER_API")
	if dir == "" {
		t.Skip("no controllers: CLUSTER_API names the folder of hack/clusterapi (make cluster-api builds it and sets it)")
	}
	return dir
}

// The tutorial does what it says, for an ordinary user.
func TestTutorial(t *testing.T) {
	dir := controllers(t)
	copied, err := os.MkdirTemp("", "cluster-api-") // every user can enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(copied) })
	if err := errors.Join(os.Chmod(copied, 0o755), os.CopyFS(copied, os.DirFS(dir))); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CLUSTER_API", copied)
	text, err := tutorial.Load(page + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	err = tutorial.Runner{
		Binary: binary, Root: filepath.Join("..", ".."), As: as, Patience: patience, Offers: true,
		Ran: func(c *tutorial.Command, r tutorial.Result) {
			t.Logf("%d: $ %s\n%s", c.Line, c.Text, r.Output)
			ran++
		},
		Skipped: func(line int, why string) {
			if strings.HasPrefix(why, "needs") {
				t.Errorf("%sREADME.md:%d: not run: %s", page, line, why)
			}
		},
	}.Run(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	if ran == 0 {
		t.Error("no command of the page was run")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// filled replaces the variables of the manifest.
func (w *world) filled(text string) string {
	w.t.Helper()
	status := w.Status()
	var values []string
	for _, v := range status.VCenters {
		u, err := url.Parse(v.URL)
		if err != nil {
			w.t.Fatal(err)
		}
		values = append(values, "${VCENTER_"+strings.ToUpper(v.Name)+"}", u.Host)
	}
	server, err := url.Parse(strings.TrimSpace(w.Run("kubectl", "config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")))
	if err != nil {
		w.t.Fatal(err)
	}
	version := w.Node("cp-1").Version
	values = append(values, "${API_HOST}", server.Hostname(), "${API_PORT}", server.Port(), "${KUBERNETES}", version)
	return strings.NewReplacer(values...).Replace(text)
}

// conditions prints those of machines.
const conditions = `jsonpath={range .items[*]}{.metadata.name}{"\n"}{range .status.conditions[*]}{.type}={.status} {.reason} {.message}{"\n"}{end}{end}`

// manage starts the controllers, which end with the test.
func (w *world) manage(home *program.Home, manager string) {
	w.t.Helper()
	w.log = filepath.Join(w.t.TempDir(), "manager.log")
	log, err := os.Create(w.log)
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(manager)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.Status().Kubeconfig, "HOME="+home.Tmp)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("%s", w.Show([]string{"kubectl", "get", "machines", "-o", conditions}))
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		_ = log.Close()
		if w.t.Failed() {
			text := read(w.t, w.log)
			w.t.Logf("manager:\n%s", text[max(0, len(text)-8000):])
		}
	})
}

// nodes waits until so many nodes with the prefix are ready and initialized, and there is no other one.
func (w *world) nodes(prefix string, count int) (found []api.Node) {
	w.t.Helper()
	w.Await("nodes "+prefix+"*", patience, func() bool {
		found = slices.DeleteFunc(w.Nodes(), func(n api.Node) bool { return !strings.HasPrefix(n.Name, prefix) || !n.Registered })
		return len(found) == count && !slices.ContainsFunc(found, func(n api.Node) bool { return !n.Initialized || n.Ready != "True" })
	})
	return found
}

// running waits until Cluster API knows the nodes of its machines.
func (w *world) running(count int) {
	w.t.Helper()
	w.Await("machines are running", patience, func() bool {
		phases := strings.Fields(w.Run("kubectl", "get", "machines", "-o", "jsonpath={.items[*].status.phase}"))
		return len(phases) == count && !slices.ContainsFunc(phases, func(p string) bool { return p != "Running" })
	})
}

// joined checks how long it took from the machine's boot to its initialized node.
func (w *world) joined(name string) {
	w.t.Helper()
	at := func(kind, message string) time.Time {
		events := w.Since(0, kind)
		i := slices.IndexFunc(events, func(e event.Event) bool { return e.Object.Name == name && strings.Contains(e.Message, message) })
		if i < 0 {
			w.t.Fatalf("%s: no event %s", name, kind)
		}
		return events[i].Time
	}
	took := at("node.untainted", "uninitialized").Sub(at("guest.up", ""))
	if w.t.Logf("%s is initialized %s after its boot", name, took); took > joinTime {
		w.t.Errorf("%s is initialized %s after its boot, want %s", name, took, joinTime)
	}
}
