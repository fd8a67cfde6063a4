package kubelet

import (
	"testing"
	"time"

	"k8s.io/kubernetes/cmd/kubelet/app/options"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
)

// At speed 1 a node beats as often as upstream's does by default.
func TestSpeedOneIsUpstream(t *testing.T) {
	upstream, err := options.NewKubeletConfiguration()
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[pace.Period]time.Duration{
		pace.NodeLease:        leaseDuration(upstream),
		pace.NodeStatusUpdate: upstream.NodeStatusUpdateFrequency.Duration,
		pace.NodeStatusReport: upstream.NodeStatusReportFrequency.Duration,
		pace.KubeletSync:      upstream.SyncFrequency.Duration,
	} {
		if got := pace.Speed(1).Of(p); got != want {
			t.Errorf("%s: %s, upstream's default is %s", pace.Table()[p].Setting, got, want)
		}
	}
}

func TestSettings(t *testing.T) {
	f, c, err := settings(contract.Node{Name: "cp-1", RootDir: t.TempDir(), Speed: 10, ControlPlane: true})
	if err != nil {
		t.Fatal(err)
	}
	if f.CloudProvider != "external" || c.ProviderID != "" || !c.EnableControllerAttachDetach || c.EnableServer || c.ReadOnlyPort != 0 {
		t.Errorf("cloud provider %q, providerID %q, attach-detach by controller %t, server %t, read-only port %d",
			f.CloudProvider, c.ProviderID, c.EnableControllerAttachDetach, c.EnableServer, c.ReadOnlyPort)
	}
	// The server of ours is the only one, and asks who its clients are.
	if c.Authentication.Anonymous.Enabled || !c.Authentication.Webhook.Enabled || c.Authorization.Mode != kubeletconfig.KubeletAuthorizationModeWebhook ||
		c.Port != 10250 || c.HealthzPort != 0 || c.EnableSystemLogHandler || c.EnableProfilingHandler || c.EnableDebugFlagsHandler {
		t.Errorf("authentication %+v, authorization %+v, port %d", c.Authentication, c.Authorization, c.Port)
	}
	if c.MakeIPTablesUtilChains {
		t.Error("it writes into the packet filter of this machine")
	}
	if c.NodeLeaseDurationSeconds != 4 {
		t.Errorf("lease of %d s, want 4", c.NodeLeaseDurationSeconds)
	}
	if len(c.RegisterWithTaints) != 1 || c.RegisterWithTaints[0].Key != "node-role.kubernetes.io/control-plane" {
		t.Errorf("taints %v", c.RegisterWithTaints)
	}
}

// The kubelet reports the VM, not the host; each boot has a new ID.
func TestMachine(t *testing.T) {
	cfg := contract.Node{SystemUUID: "C826E0BA-F161-5B29-9441-309500A3695F", CPUs: 3, MemoryBytes: 5 << 30, OSImage: "os", Kernel: "k"}
	m, again := newMachine(cfg), newMachine(cfg)
	info, err := m.info()
	if err != nil {
		t.Fatal(err)
	}
	if info.SystemUUID != cfg.SystemUUID || info.NumCores != 3 || info.MemoryCapacity != 5<<30 {
		t.Errorf("%+v", info)
	}
	if other, _ := again.info(); other.BootID == info.BootID {
		t.Error("two boots have one boot ID")
	}
	if v, err := m.VersionInfo(); err != nil || v.ContainerOsVersion != "os" || v.KernelVersion != "k" {
		t.Errorf("%+v %v", v, err)
	}
	if fs, err := m.RootFsInfo(); err != nil || fs.Available == 0 || fs.Available >= fs.Capacity {
		t.Errorf("%+v %v", fs, err)
	}
}
