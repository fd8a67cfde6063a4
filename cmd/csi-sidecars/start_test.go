package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/election"
)

// watched is what each sidecar watches with the sandbox's flags.
type watched struct {
	name  string
	args  []string
	wants []string
	lease string
}

func all() []watched {
	return []watched{
		{
			"csi-provisioner",
			[]string{"--strict-topology", "--extra-create-metadata", "--default-fstype=ext4", "--timeout=300s", "--worker-threads=10", "--enable-capacity"},
			[]string{
				"watch /persistentvolumeclaims", "watch /persistentvolumes", "watch storage.k8s.io/storageclasses", "watch /nodes",
				"watch storage.k8s.io/csinodes", "watch storage.k8s.io/volumeattachments", "watch storage.k8s.io/csistoragecapacities",
				"watch snapshot.storage.k8s.io/volumesnapshots",
			},
			"csi-vsphere-vmware-com",
		}, {
			"csi-attacher",
			[]string{"--default-fstype=ext4", "--timeout=300s", "--reconcile-sync=10s", "--worker-threads=10"},
			[]string{"watch /persistentvolumes", "watch storage.k8s.io/volumeattachments", "watch storage.k8s.io/csinodes"},
			"external-attacher-leader-csi-vsphere-vmware-com",
		}, {
			"csi-resizer",
			[]string{"--handle-volume-inuse-error=false", "--timeout=300s", "--workers=5"},
			[]string{"watch /persistentvolumes", "watch /persistentvolumeclaims"},
			"external-resizer-csi-vsphere-vmware-com",
		}, {
			"csi-snapshotter",
			[]string{"--extra-create-metadata", "--timeout=300s"},
			[]string{"watch snapshot.storage.k8s.io/volumesnapshotcontents", "watch snapshot.storage.k8s.io/volumesnapshotclasses"},
			"external-snapshotter-leader-csi-vsphere-vmware-com",
		}, {
			"snapshot-controller", nil,
			[]string{
				"watch snapshot.storage.k8s.io/volumesnapshots", "watch snapshot.storage.k8s.io/volumesnapshotcontents",
				"watch snapshot.storage.k8s.io/volumesnapshotclasses", "watch /persistentvolumeclaims", "watch /persistentvolumes",
			},
			"snapshot-controller-leader",
		},
	}
}

// flagsFor are the flags of every sidecar.
func flagsFor(w watched, api *fakeAPI, socket string) []string {
	args := []string{w.name, "--kubeconfig=" + api.kubeconfig, "--kube-api-qps=100", "--kube-api-burst=100", "--retry-interval-start=100ms", "--retry-interval-max=10s", "--v=4"}
	if w.name != "snapshot-controller" {
		args = append(args, "--csi-address="+socket)
	}
	return append(args, w.args...)
}

// Each sidecar starts, watches its objects, and ends on SIGTERM without an error.
func TestStartsAndEnds(t *testing.T) {
	for _, w := range all() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			api := startAPI(t)
			socket, _ := startDriver(t)
			p := start(t, flagsFor(w, api, socket)...)
			api.await(t, p, w.wants...)
			for _, other := range api.requests() {
				if strings.Contains(other, "leases") || strings.Contains(other, "groupsnapshot") || strings.Contains(other, "secrets") {
					t.Errorf("asks for %s", other)
				}
			}
			checkRights(t, w.name, api.requests())
			p.term()
			p.ends(0)
			if strings.Contains(p.output(), "panic") {
				t.Errorf("it says:\n%s", p.output())
			}
		})
	}
}

// With leader election each has a Lease with upstream's name, and releases it.
func TestLeaderElection(t *testing.T) {
	for _, w := range all() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			api := startAPI(t)
			socket, _ := startDriver(t)
			p := start(t, append(flagsFor(w, api, socket), "--leader-election")...)
			api.await(t, p, w.wants...)
			// The first renewal follows at once. One that is cut off could be written behind the release: this API server knows no conflicts.
			api.await(t, p, "update coordination.k8s.io/leases")
			if who, ok := api.holder(w.lease); who == "" {
				t.Errorf("Lease %s: there is one: %v", w.lease, ok)
			}
			p.term()
			p.ends(0)
			checkRights(t, w.name, api.requests())
			if who, ok := api.holder(w.lease); who != "" || !ok {
				t.Errorf("Lease %s is still held by %q, %v", w.lease, who, ok)
			}
		})
	}
}

// A process that does not lead only waits, and can be stopped.
func TestWaitsForTheLease(t *testing.T) {
	api := startAPI(t)
	socket, _ := startDriver(t)
	w := all()[1]
	api.leases[w.lease] = &coordinationv1.Lease{
		TypeMeta:   metav1.TypeMeta{APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{Name: w.lease, Namespace: "csi"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("other"), LeaseDurationSeconds: new(int32(3600))},
	}
	p := start(t, append(flagsFor(w, api, socket), "--leader-election")...)
	api.await(t, p, "get coordination.k8s.io/leases")
	p.term()
	p.ends(0)
	for _, r := range api.requests() {
		if strings.HasPrefix(r, "watch") {
			t.Errorf("it works all the same: %s", r)
		}
	}
}

// A sidecar waits for its driver, and ends with an error when the driver disappears: its supervisor starts it again.
func TestDriverComesAndGoes(t *testing.T) {
	for _, w := range all()[:4] {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			api := startAPI(t)
			socket := filepath.Join(socketDir(t), "csi.sock")
			p := start(t, flagsFor(w, api, socket)...)
			p.says("Version")
			stop := serveDriver(t, socket, everything()...)
			api.await(t, p, w.wants...)
			stop()
			p.ends(1)
			p.says(errDriverLost.Error())
		})
	}
}

// A driver without a sidecar's capability is an error; the sidecar does not wait.
func TestDriverCannot(t *testing.T) {
	api := startAPI(t)
	socket := filepath.Join(socketDir(t), "csi.sock")
	serveDriver(t, socket, csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME)
	p := start(t, flagsFor(all()[3], api, socket)...)
	p.ends(1)
	p.says("driver csi.vsphere.vmware.com: it does not support snapshots")
}

// SIGTERM ends a sidecar that waits for its driver.
func TestEndsWithoutDriver(t *testing.T) {
	api := startAPI(t)
	p := start(t, flagsFor(all()[0], api, filepath.Join(socketDir(t), "csi.sock"))...)
	p.says("Version")
	p.term()
	p.ends(0)
}

// Metrics of calls and of queues are served, and whether the Lease is renewed.
func TestMetrics(t *testing.T) {
	api := startAPI(t)
	socket, _ := startDriver(t)
	address := freeAddress(t)
	w := all()[0]
	p := start(t, append(flagsFor(w, api, socket), "--leader-election", "--http-endpoint="+address)...)
	api.await(t, p, w.wants...)
	for path, want := range map[string][]string{
		"/metrics": {
			`csi_sidecar_operations_seconds_count{driver_name="csi.vsphere.vmware.com"`, `method_name="/csi.v1.Controller/ControllerGetCapabilities"`,
			`workqueue_depth{name="claims"}`, "leader_election_master_status", "go_goroutines",
		},
		election.HealthPath: {""},
	} {
		answer, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s, %v", path, answer.Status, err)
		}
		for _, part := range want {
			if !strings.Contains(string(body), part) {
				t.Errorf("%s has no %s", path, part)
			}
		}
	}
	p.term()
	p.ends(0)
}

// freeAddress returns an address that no process uses.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Invalid command lines are reported, and nothing starts.
func TestMistakes(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"csi-cloner"}, `"csi-cloner" is not a sidecar; use one of [csi-provisioner csi-attacher csi-resizer csi-snapshotter snapshot-controller]`},
		{[]string{"csi-attacher", "--csi-address=tcp://127.0.0.1:1"}, `--csi-address=tcp://127.0.0.1:1: must be the path of a unix socket`},
		{[]string{"csi-attacher", "now"}, `csi-attacher takes no argument "now"`},
		{[]string{"csi-provisioner", "--enable-node-deployment"}, `flag provided but not defined: -enable-node-deployment`},
		{[]string{"csi-resizer", "--retry-interval-start=1h"}, `--retry-interval-start must be positive and at most`},
		{[]string{"csi-snapshotter", "--feature-gates=NoSuchGate=true"}, `unrecognized feature gate: NoSuchGate`},
		{[]string{"snapshot-controller", "--kubeconfig=/no/such/file"}, `--kubeconfig=/no/such/file: `},
	} {
		p := start(t, test.args...)
		p.ends(1)
		p.says(test.want)
	}
}

// Help, the releases, and the name of the program.
func TestHelp(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"csi-sidecars"}, "binds VolumeSnapshots to their contents"},
		{[]string{"csi-sidecars", "--help"}, "Usage: csi-sidecars SIDECAR [FLAGS]"},
		{[]string{"csi-sidecars", "version"}, "csi-attacher"},
		{[]string{"/usr/bin/csi-attacher", "--version"}, "csi-attacher v4"},
		{[]string{"csi-sidecars", "csi-resizer", "--version"}, "csi-resizer v2"},
	} {
		var out strings.Builder
		if err := run(t.Context(), test.args, &out); err != nil || !strings.Contains(out.String(), test.want) {
			t.Errorf("%v: %v, got\n%s", test.args, err, out.String())
		}
	}
	for _, name := range names() {
		var out strings.Builder
		if err := run(t.Context(), []string{"csi-sidecars", name, "--help"}, &out); fmt.Sprint(err) != "flag: help requested" || !strings.Contains(out.String(), "-kubeconfig") {
			t.Errorf("%s: %v, got\n%s", name, err, out.String())
		}
	}
}
