package kind

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// What a runtime answers when there is an image, no cluster of the name, and no network.
func answers(more map[string]string) map[string]string {
	all := map[string]string{
		"context inspect":                        "unix:///var/run/docker.sock\n",
		"image inspect example.org/node:v1.36.4": `[{"Id":"sha256:1","Config":{"Labels":{"org.opencontainers.image.version":"v1.36.4"}}}]`,
		"ps --all":                               "",
		"info --format {{.NCPU}} {{.MemTotal}}":  "4 16000000000\n",
		"network ls":                             "",
		"network create":                         "",
	}
	maps.Copy(all, more)
	return all
}

// fakedCluster is one whose runtime answers so.
func fakedCluster(t *testing.T, more map[string]string) (*Cluster, *fake, *[]string) {
	t.Helper()
	opts := planned(t, "single")
	said := &[]string{}
	opts.Dir, opts.Progress = t.TempDir(), func(line string) { *said = append(*said, line) }
	var f *fake
	opts.Runtime, f = faked(t, answers(more))
	c, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return c, f, said
}

// Any obstacle is reported before kind is called, with what to do about it.
func TestWhatStandsInTheWay(t *testing.T) {
	const inspect, node = "image inspect example.org/node:v1.36.4", "example.org/node:v1.36.4"
	of := func(source string) string {
		return `[{"Id":"1","Name":"/vsphere-sandbox-demo-worker","State":{"Status":"exited"},"Mounts":[{"Source":"` + source + `","Destination":"/kind/vsphere-sandbox"}]}]`
	}
	mine := map[string]string{"ps --all --filter label=io.x-k8s.kind.cluster=vsphere-sandbox-demo": "vsphere-sandbox-demo-worker\n"}
	with := func(more map[string]string) map[string]string {
		all := maps.Clone(mine)
		maps.Copy(all, more)
		return all
	}
	for name, tc := range map[string]struct {
		answers map[string]string
		code    string
		want    string
	}{
		"the daemon is elsewhere": {map[string]string{"context inspect": "ssh://there\n"}, RuntimeRemote, "docker uses a daemon on another host (ssh://there)"},
		"the daemon has stopped": {
			map[string]string{inspect: "!Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?"},
			runtime.Stopped, "docker is installed, but its daemon does not respond",
		},
		"no image": {
			map[string]string{inspect: "!Error: No such image: x", "pull " + node: "!Error response from daemon: no such host"},
			runtime.ImageMissing, "image " + node + " is not on this host and cannot be pulled",
		},
		"another Kubernetes": {
			map[string]string{inspect: `[{"Config":{"Labels":{"org.opencontainers.image.version":"v1.31.0"}}}]`},
			ImageUnfit, "image " + node + " is of Kubernetes v1.31.0: v1.32 is the oldest that works here",
		},
		"another Kubernetes by its file": {map[string]string{inspect: `[{"Config":{}}]`, "run --rm": "v1.30.1\n"}, ImageUnfit, "is of Kubernetes v1.30.1"},
		"no node image":                  {map[string]string{inspect: `[{"Config":{}}]`, "run --rm": "!cat: not found"}, ImageUnfit, "is no node image: it has no file /kind/version"},
		"a cluster of the user's": {
			with(map[string]string{"container inspect": `[{"Id":"1","Name":"/vsphere-sandbox-demo-worker"}]`}),
			NameTaken, "cluster vsphere-sandbox-demo exists already, which was not created by a sandbox",
		},
		"a cluster of another sandbox": {
			with(map[string]string{"container inspect": of("/other/sandbox")}),
			NameTaken, "created by the sandbox in /other",
		},
		"no network": {map[string]string{"network create": "!Error response from daemon: no free pools"}, runtime.Failed, "docker network create: Error response from daemon: no free pools"},
	} {
		t.Run(name, func(t *testing.T) {
			c, f, _ := fakedCluster(t, tc.answers)
			err := c.Create(t.Context())
			if !coded.Is(err, tc.code) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s: %s", err, tc.code, tc.want)
			}
			var e *coded.Error
			if errors.As(err, &e) && e.Try == "" && tc.code != runtime.Failed {
				t.Error("nothing to try")
			}
			if removed := f.called("rm"); len(removed) > 0 {
				t.Errorf("removed: %q", removed)
			}
			if left, err := os.ReadDir(c.opts.Dir); err != nil || len(left) > 0 {
				t.Errorf("files left: %v, %v", left, err)
			}
		})
	}
}

// A cluster that a killed sandbox left is removed, with its volumes and helper containers; also kind's network, if it is
// ours and unused.
func TestReap(t *testing.T) {
	c, f, said := fakedCluster(t, nil)
	f.answers["ps --all --filter label=io.x-k8s.kind.cluster=vsphere-sandbox-demo"] = "one\ntwo\ngone\n"
	f.answers["container inspect one"] = `[{"Name":"/one","Mounts":[{"Source":"` + c.opts.Dir + `/sandbox","Destination":"/kind/vsphere-sandbox"}]}]`
	f.answers["container inspect two"] = f.answers["container inspect one"]
	f.answers["container inspect gone"] = "!Error response from daemon: No such container: gone"
	f.answers["ps --all --filter label=vsphere-sandbox.helper=vsphere-sandbox-demo"] = "helper\n"
	f.answers["rm --force --volumes"] = ""
	f.answers["network ls"] = "kind\n"
	f.answers["network inspect kind"] = `[{"Id":"n","Labels":{"vsphere-sandbox.network":"true"},"IPAM":{"Config":[]}}]`
	f.answers["network rm kind"] = ""
	say := speak(c.opts.Progress)
	if err := c.claim(t.Context(), say.say); err != nil {
		t.Fatal(err)
	}
	say.stop()
	if diff := cmp.Diff([]string{"removed what an earlier run left: one, two"}, *said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"rm --force --volumes one two", "rm --force --volumes helper"}, f.called("rm")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(f.called("network rm kind")) != 1 {
		t.Error("the network is left")
	}

	for name, answers := range map[string]map[string]string{
		"kind's own":       {"network inspect kind": `[{"Id":"n","IPAM":{"Config":[]}}]`},
		"somebody's in it": {"ps --all --filter network=kind": "other-control-plane\n"},
	} {
		maps.Copy(f.answers, map[string]string{"network inspect kind": `[{"Id":"n","Labels":{"vsphere-sandbox.network":"true"}}]`, "ps --all --filter network=kind": ""})
		maps.Copy(f.answers, answers)
		f.calls = nil
		if removed, err := Reap(t.Context(), c.rt, "demo", c.opts.Dir); err != nil || !slices.Equal(removed, []string{"one", "two"}) {
			t.Errorf("%s: removed %v, %v", name, removed, err)
		}
		if len(f.called("network rm kind")) != 0 {
			t.Errorf("%s: the network was removed", name)
		}
	}
	// Of another sandbox's cluster nothing is touched.
	f.calls = nil
	f.answers["ps --all --filter label=vsphere-sandbox.helper=vsphere-sandbox-demo"] = ""
	if removed, err := Reap(t.Context(), c.rt, "demo", t.TempDir()); err != nil || len(removed) > 0 || len(f.called("rm")) > 0 {
		t.Errorf("another's: removed %v, %v: %q", removed, err, f.calls)
	}
}

// When kind gives up its containers are removed, but no others that were created with the cluster's name at the same time.
func TestTakeAway(t *testing.T) {
	for name, tc := range map[string]struct {
		retain bool
		want   []string
	}{
		"removed": {false, []string{"rm --force --volumes one"}},
		"killed":  {true, []string{"kill one"}},
	} {
		c, f, _ := fakedCluster(t, nil)
		c.opts.Retain = tc.retain
		f.answers["ps --all --filter label=io.x-k8s.kind.cluster=vsphere-sandbox-demo"] = "one\nforeign\n"
		f.answers["container inspect one"] = `[{"Name":"/one","Mounts":[{"Source":"` + c.opts.Dir + `/sandbox","Destination":"/kind/vsphere-sandbox"}]}]`
		f.answers["container inspect foreign"] = `[{"Name":"/foreign"}]`
		f.answers["rm --force --volumes"], f.answers["kill"] = "", ""
		if err := c.takeAway(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := append(f.called("rm"), f.called("kill")...); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestNetworkIsMadeWithoutIPv6WhereIsMissing(t *testing.T) {
	_, f, _ := fakedCluster(t, map[string]string{"network create --driver bridge --label vsphere-sandbox.network=true --opt com.docker.network.bridge.enable_ip_masquerade=true --ipv6": "!no IPv6"})
	if err := ensureNetwork(t.Context(), runtime.With("docker", f)); err != nil {
		t.Fatal(err)
	}
	if made := f.called("network create"); len(made) != 2 || strings.Contains(made[1], "--ipv6") {
		t.Errorf("%q", made)
	}
}

func TestFiles(t *testing.T) {
	c, _, _ := fakedCluster(t, nil)
	if err := c.writeFiles(); err != nil {
		t.Fatal(err)
	}
	uuid := c.machines[1].UUID
	for path, want := range map[string]string{
		"sandbox": "demo\n", "nodes/worker-1/product_uuid": uuid + "\n", "nodes/worker-1/product_serial": c.machines[1].Serial + "\n", "kubelet-serial.conf": serialUnit,
	} {
		path = filepath.Join(c.opts.Dir, path)
		text, err := os.ReadFile(path)
		if err != nil || string(text) != want {
			t.Errorf("%s: %q, %v; want %q", path, text, err, want)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	other := filepath.Join(c.opts.Dir, "nodes", "others")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.removeFiles(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(c.opts.Dir, "nodes")); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.removeFiles(); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(c.opts.Dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	c.opts.Dir = filepath.Join(c.opts.Dir, "none")
	if err := c.writeFiles(); err == nil {
		t.Error("wrote into a directory that is not there")
	}
}

func TestIdentify(t *testing.T) {
	const uuid = "42030000-0000-4000-8000-000000000003"
	c, _, _ := fakedCluster(t, nil)
	if err := c.writeFiles(); err != nil {
		t.Fatal(err)
	}
	mounted, err := os.Open(filepath.Join(c.opts.Dir, "nodes/worker-1/product_uuid")) // as a container has it
	if err != nil {
		t.Fatal(err)
	}
	defer mounted.Close()
	if err := c.Identify("worker-1", uuid); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(mounted); err != nil || string(text) != uuid+"\n" {
		t.Errorf("%q, %v", text, err)
	}
	serial, err := os.ReadFile(filepath.Join(c.opts.Dir, "nodes/worker-1/product_serial"))
	if err != nil || string(serial) != "VMware-42 03 00 00 00 00 40 00-80 00 00 00 00 00 00 03\n" {
		t.Errorf("%q, %v", serial, err)
	}
	for node, uuid := range map[string]string{"worker-1": "blank", "none": uuid} {
		if err := c.Identify(node, uuid); err == nil {
			t.Errorf("node %q is VM %q", node, uuid)
		}
	}
}

func TestMinor(t *testing.T) {
	for release, want := range map[string]string{"v1.36.4": "v1.36", "v1.36.0-alpha.1+x": "v1.36", "v1.36": "v1.36", "unknown": "", "": "", "1.36.4": "", "v1.x.2": "", "v2.1.0": ""} {
		if got := minor(release); got != want {
			t.Errorf("%s: %q, want %q", release, got, want)
		}
	}
}
