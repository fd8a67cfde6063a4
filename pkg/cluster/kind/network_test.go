package kind

import (
	"net"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// The network is the one that kind takes.
func TestNetwork(t *testing.T) {
	t.Setenv("KIND_EXPERIMENTAL_DOCKER_NETWORK", "lab")
	t.Setenv("KIND_EXPERIMENTAL_PODMAN_NETWORK", "")
	for name, want := range map[string]string{"docker": "lab", "podman": "kind", "nerdctl": "kind"} {
		if got := Network(runtime.New(name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// What nodes reach is open until the cluster is closed.
func TestExpose(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, _, _ := fakedCluster(t, map[string]string{
		"info": "Debian GNU/Linux 12\n", "network ls": "kind\n",
		"network inspect kind": `[{"IPAM":{"Config":[{"Subnet":"127.0.0.3/24","Gateway":"127.0.0.3"}]}}]`,
	})
	at, err := c.Expose(t.Context(), l.Addr().String())
	if err != nil || at.Addr().String() != "127.0.0.3" {
		t.Fatalf("%v, %v", at, err)
	}
	conn, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", at.String()); err == nil {
		t.Error("the relay still listens")
	}
	if _, err := c.Expose(t.Context(), "nowhere"); err == nil {
		t.Error("exposed nowhere")
	}
	c, _, _ = fakedCluster(t, map[string]string{
		"info": "Docker Desktop\n",
		"exec --privileged vsphere-sandbox-demo-control-plane getent ahostsv4 host.docker.internal": "192.168.65.254 STREAM host.docker.internal\n",
	})
	defer c.Close()
	if at, err = c.Expose(t.Context(), l.Addr().String()); err != nil || at.Addr().String() != "192.168.65.254" {
		t.Errorf("desktop: %v, %v", at, err)
	}
	c, _, _ = fakedCluster(t, map[string]string{"info": "Debian\n", "network ls": ""})
	if _, err := c.Expose(t.Context(), l.Addr().String()); err == nil || !strings.Contains(err.Error(), "create the cluster or the network first") {
		t.Errorf("no network: %v", err)
	}
}

// A kind cluster that another program created has a door, too.
func TestDoor(t *testing.T) {
	rt, _ := faked(t, map[string]string{
		"info": "Debian GNU/Linux 12\n", "network ls": "kind\n",
		"network inspect kind":                                     `[{"IPAM":{"Config":[{"Subnet":"172.18.0.0/16","Gateway":"172.18.0.1"}]}}]`,
		"ps --all --filter label=io.x-k8s.kind.cluster=dev":        "dev-control-plane\n",
		"ps --all --filter label=io.x-k8s.kind.cluster=production": "",
	})
	door, err := Door(t.Context(), rt, "dev")
	if err != nil || len(door.Addresses()) != 1 || door.Addresses()[0].String() != "172.18.0.1" {
		t.Errorf("%+v, %v", door, err)
	}
	if _, err := Door(t.Context(), rt, "production"); !coded.Is(err, NoCluster) || !strings.Contains(err.Error(), `no kind cluster "production"`) {
		t.Errorf("a cluster that is not there: %v", err)
	}
}
