package real

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// usersCluster is a cluster of another user, with nodes that are VMs of a vCenter that is not the sandbox's: another sandbox
// in the same home, of which only its kubeconfig and its vCenter with a user and a password are used.
type usersCluster struct {
	*sandbox
	standIn    *standIn
	conf       string
	kubeconfig string
}

// cluster boots one.
func (h *home) cluster() *usersCluster {
	h.T.Helper()
	topology, err := filepath.Abs(filepath.Join("testdata", "own.yaml"))
	if err != nil {
		h.T.Fatal(err)
	}
	h.Must("--name", "theirs", "up", topology, "--detach", "--csi", "off")
	c := &usersCluster{sandbox: &sandbox{Sandbox: h.Attach("theirs"), home: h}}
	vars := map[string]string{}
	for line := range strings.Lines(c.Run("env")) {
		if name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "="); ok {
			vars[name] = strings.Trim(value, "'")
		}
	}
	c.kubeconfig = vars["KUBECONFIG"]
	address := strings.TrimSuffix(strings.TrimPrefix(vars["GOVC_URL"], "https://"), "/sdk")
	c.standIn = &standIn{t: h.T, kind: "own", address: address, ca: vars["GOVC_TLS_CA_CERTS"], account: account{vars["GOVC_USERNAME"], vars["GOVC_PASSWORD"]}}
	c.conf = c.standIn.config(h)
	return c
}

// beside are the arguments by which a sandbox stands beside the cluster.
func (c *usersCluster) beside(more ...string) []string {
	return append([]string{"--cluster", "existing", "--kubeconfig", c.kubeconfig, "--vcenter-config", c.conf}, more...)
}

// clean fails the test where the cluster has an object of the sandbox of that name.
func (c *usersCluster) clean(name string) {
	c.home.T.Helper()
	const kinds = "namespaces,serviceaccounts,configmaps,secrets,roles,rolebindings,clusterroles,clusterrolebindings,leases,nodes"
	if out := c.Run("kubectl", "get", kinds, "-A", "-l", "app.kubernetes.io/instance="+name, "-o", "name"); strings.Contains(out, "/") {
		c.home.T.Errorf("the cluster has something of %s:\n%s", name, out)
	}
	if r := c.run("kubectl", "get", "namespace", "vsphere-sandbox-"+name); r.Code == 0 {
		c.home.T.Errorf("its namespace is there:\n%s", r.Out)
	}
}

// A sandbox that only watches shows the nodes of a cluster with their VMs, follows both, and makes nothing there.
func TestTheirsWatched(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.cluster()
	box := h.up("watch", c.beside("--folder", "k8s", "--allow-writes", "--write-folder", folder)...)
	if g, want := box.Status().Ground, (api.Ground{Cluster: "existing", Nodes: "real", Inventory: "real", Writable: true}); g != want {
		t.Errorf("it stands on %+v, want %+v", g, want)
	}
	for _, name := range []string{"far-1", "far-2", "far-3"} {
		n := box.Node(name)
		if !well(n) || n.VM != name || n.VCenter != "far" || n.Power != "on" || n.Region != "far" || !strings.HasPrefix(n.Zone, "far-") {
			t.Errorf("%+v", n)
		}
	}
	c.clean("watch")

	c.Run("vm", "power-off", "far-1")
	box.Await("far-1 is off, not ready and said to be shut down", time.Minute, func() bool {
		n := box.Node("far-1")
		return n.Power == "off" && n.Ready != "True" && tainted(n)
	})
	box.run("explain", "node", "far-1").Wants(t, 0, "powered off")
	c.Run("vm", "power-on", "far-1")
	box.Await("far-1 is well again", 2*time.Minute, func() bool { return well(box.Node("far-1")) })

	// What belongs to the user is not changed; what is allowed is.
	for _, refused := range [][]string{
		{"fault", "inject", "node.tainted", "far-2"},
		{"fault", "inject", "vm.hang", "far-2"},
		{"fault", "inject", "secret.deleted"},
		{"fault", "inject", "control-plane.restart"},
		{"ccm", "swap", "builtin"},
		{"vm", "hang", "far-2"},
		{"taint", "out-of-service", "far-2"},
	} {
		box.run(refused...).Wants(t, 1, "error: ")
	}
	box.run("vm", "power-off", "far-2", "--yes").Wants(t, 0)
	box.Await("far-2 is said to be shut down", time.Minute, func() bool { return tainted(box.Node("far-2")) })
	h.Must("--name", "watch", "down")
	if got := c.standIn.power(folder + "/far-2"); got != "poweredOn" {
		t.Errorf("after down far-2 is %s", got)
	}
	h.Must("--name", "theirs", "down")
	h.nothingLeft()
}

// With --ccm one runs here, for the cluster's nodes and behind our gates; all that it takes there goes with it.
func TestTheirsManaged(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.cluster()
	c.Run("fault", "inject", "ccm.paused") // so that what is done is not its doing
	box := h.up("work", c.beside("--ccm", "builtin", "--ccm-replicas", "2", "--beside-cloud-controller", "--vm", "*")...)
	c.Run("vm", "power-off", "far-3")
	box.Await("far-3 is said to be shut down", time.Minute, func() bool { return tainted(box.Node("far-3")) })
	c.Run("vm", "power-on", "far-3")
	box.Await("far-3 is well again", 2*time.Minute, func() bool { return well(box.Node("far-3")) })

	before := box.Last()
	box.Run("vcenter", "down", "far")
	box.Await("its cloud controller manager loses the vCenter", time.Minute, func() bool { return len(box.Since(before, "ccm.vcenter-unreachable")) > 0 })
	box.Run("vcenter", "up", "far")
	box.Await("and finds it again", time.Minute, func() bool { return len(box.Since(before, "ccm.vcenter-connected")) > 0 })

	type leases struct {
		Items []struct {
			Metadata struct{ Name, Namespace string }
		}
	}
	for _, l := range program.Kubectl[leases](c.Sandbox, "get", "leases", "-A").Items {
		if l.Metadata.Namespace == "kube-system" && l.Metadata.Name == "cloud-controller-manager" {
			t.Error("it leads by a Lease of kube-system")
		}
	}

	// What a killed one has left is taken back by "down", which learns of it from its directory.
	if err := syscall.Kill(box.Status().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.Must("--name", "work", "down")
	c.clean("work")

	h.up("again", c.beside("--ccm", "builtin", "--beside-cloud-controller")...)
	h.Must("--name", "again", "down")
	c.clean("again")
	h.Must("--name", "theirs", "down")
	h.nothingLeft()
}

// What would do harm, or cannot be, is refused before anything is made, and says what to do.
func TestTheirsRefused(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := h.cluster()
	powerless, reader := c.asPowerless(), c.asReader()
	for name, tc := range map[string]struct {
		args []string
		code int
		says []string
	}{
		"another cloud controller manager": {c.beside("--ccm", "builtin"), 4, []string{"runs a cloud controller manager", "try: leave --ccm out", "--beside-cloud-controller"}},
		"nodes without a VM":               {c.beside("--ccm", "builtin", "--beside-cloud-controller", "--vm", "far-1"), 4, []string{"far-2, far-3", "deletes Nodes", "try: "}},
		"another context":                  {c.beside("--context", "prod"), 4, []string{`no context "prod"`, "try: "}},
		"no such kubeconfig":               {append(c.beside(), "--kubeconfig", "nowhere"), 4, []string{"nowhere", "try: "}},
		"nobody there":                     {append(c.beside(), "--kubeconfig", c.at("https://127.0.0.1:1")), 4, []string{"127.0.0.1:1", "does not respond", "try: "}},
		"no rights":                        {append(c.beside(), "--kubeconfig", powerless), 4, []string{"get nodes", "list nodes", "watch nodes", "list events", "try: "}},
		"few rights":                       {append(c.beside("--ccm", "builtin", "--beside-cloud-controller"), "--kubeconfig", reader), 4, []string{"create namespaces", "create clusterroles", "try: "}},
		"volumes":                          {c.beside("--csi", "builtin"), 2, []string{"--csi builtin", "try: "}},
		"a speed":                          {c.beside("--speed", "10"), 2, []string{"--speed 10", "try: "}},
	} {
		r := h.Try(append([]string{"--name", "no", "up"}, tc.args...)...)
		if r.Code != tc.code || r.Out != "" {
			t.Errorf("%s: exit status %d, want %d\n%s", name, r.Code, tc.code, r.Both())
		}
		for _, text := range tc.says {
			if !strings.Contains(r.Err, text) {
				t.Errorf("%s: does not say %q:\n%s", name, text, r.Err)
			}
		}
		if _, err := os.Stat(filepath.Join(h.State, "no")); err == nil {
			t.Errorf("%s: its directory is left", name)
		}
	}
	c.clean("no")
	// To watch takes no more than that.
	box := h.up("watch", append(c.beside(), "--kubeconfig", reader)...)
	box.run("explain", "node", "far-1").Wants(t, 0, "far-1")
	h.Must("--name", "watch", "down")
	h.Must("--name", "theirs", "down")
	h.nothingLeft()
}

// edited is a kubeconfig of the cluster's that is another in something.
func (c *usersCluster) edited(name string, edit func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) string {
	t := c.home.T
	t.Helper()
	k, err := clientcmd.LoadFromFile(c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	at := k.Contexts[k.CurrentContext]
	edit(k.Clusters[at.Cluster], k.AuthInfos[at.AuthInfo])
	path := filepath.Join(c.home.Tmp, name)
	if err := clientcmd.WriteToFile(*k, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// at is the kubeconfig with another server.
func (c *usersCluster) at(server string) string {
	return c.edited("elsewhere", func(to *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { to.Server = server })
}

// asPowerless is the kubeconfig of an account that may do nothing.
func (c *usersCluster) asPowerless() string { return c.as("nobody") }

// asReader is the kubeconfig of one that may read nodes and events, which is enough to watch.
func (c *usersCluster) asReader() string {
	c.home.T.Helper()
	kubeconfig := c.as("reader")
	c.Run("kubectl", "create", "clusterrole", "reader", "--verb=get,list,watch", "--resource=nodes,events")
	c.Run("kubectl", "create", "clusterrolebinding", "reader", "--clusterrole=reader", "--serviceaccount=default:reader")
	return kubeconfig
}

// as is the kubeconfig of a new account.
func (c *usersCluster) as(name string) string {
	c.home.T.Helper()
	c.Run("kubectl", "create", "serviceaccount", name)
	token := strings.TrimSpace(c.Run("kubectl", "create", "token", name))
	return c.edited(name, func(_ *clientcmdapi.Cluster, who *clientcmdapi.AuthInfo) { *who = clientcmdapi.AuthInfo{Token: token} })
}
