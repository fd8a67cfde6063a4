package controlplane

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	apioptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	kcmapp "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kcmoptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	schedulerapp "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/controller/volume/attachdetach"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
)

func config(speed pace.Speed) contract.ControlPlane {
	return contract.ControlPlane{
		PKI: "/pki", Host: "127.0.0.1", Port: 6443, Speed: speed, ServiceCIDR: "10.96.0.0/16", PodCIDR: "10.244.0.0/16",
		AuditLog: "/audit.log",
	}
}

func controllerManagerFlags(t *testing.T) cliflag.NamedFlagSets {
	t.Helper()
	o, err := kcmoptions.NewKubeControllerManagerOptions()
	if err != nil {
		t.Fatal(err)
	}
	return o.Flags(kcmapp.KnownControllers(), kcmapp.ControllersDisabledByDefault(), kcmapp.ControllerAliases())
}

// Every setting is a flag that this release has, with a value that it takes. Speed 1 for the API server: the flags of its
// tolerations set package variables, which the next test reads as upstream's defaults.
func TestSettingsAreFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		settings func() (settings, error)
		flags    cliflag.NamedFlagSets
	}{
		"kube-apiserver": {
			func() (settings, error) { return apiServerSettings(config(1), "https://127.0.0.1:1") },
			apioptions.NewServerRunOptions().Flags(),
		},
		"supervisor": {
			func() (settings, error) {
				c := config(1)
				c.Supervisor = &contract.SupervisorAPI{PKI: "/supervisor", Host: "127.0.0.1", Port: 6444}
				return supervisorSettings(c, "https://127.0.0.1:1"), nil
			},
			apioptions.NewServerRunOptions().Flags(),
		},
		"kube-controller-manager": {func() (settings, error) { return controllerManagerSettings(config(10)) }, controllerManagerFlags(t)},
		"kube-scheduler":          {func() (settings, error) { return schedulerSettings(config(10)) }, *schedulerapp.NewOptions().Flags},
	} {
		s, err := tc.settings()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.apply(name, tc.flags); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (settings{"no-such-flag": "1"}).apply("x", controllerManagerFlags(t)); err == nil {
		t.Error("a flag that does not exist was accepted")
	}
}

// At speed 1 everything that is scaled is what upstream has by default.
func TestSpeedOneIsUpstream(t *testing.T) {
	defaults := map[string]string{}
	for _, sets := range []cliflag.NamedFlagSets{controllerManagerFlags(t), apioptions.NewServerRunOptions().Flags()} {
		for _, fs := range sets.FlagSets {
			fs.VisitAll(func(f *pflag.Flag) { defaults["--"+f.Name] = f.DefValue })
		}
	}
	checked := 0
	for _, r := range pace.Table() {
		def, ok := defaults[r.Setting]
		if !ok || (r.Component != "kube-controller-manager" && r.Component != "kube-apiserver") {
			continue
		}
		want, err := time.ParseDuration(def)
		if err != nil {
			want, err = time.ParseDuration(def + "s") // --default-…-toleration-seconds
		}
		if err != nil || want != r.Upstream {
			t.Errorf("%s: upstream's default is %q, the table says %s", r.Setting, def, r.Upstream)
		}
		checked++
	}
	if checked < 7 {
		t.Errorf("only %d flags of the table were found among upstream's", checked)
	}
	timers := attachdetach.DefaultTimerConfig
	if got := pace.Speed(1).Of(pace.AttachDetachMaxWaitForUnmount); got != timers.ReconcilerMaxWaitForUnmountDuration {
		t.Errorf("max wait for unmount: %s, upstream's is %s", got, timers.ReconcilerMaxWaitForUnmountDuration)
	}
	if got := pace.Speed(1).Of(pace.AttachDetachPopulator); got != timers.DesiredStateOfWorldPopulatorLoopSleepPeriod {
		t.Errorf("populator: %s, upstream's is %s", got, timers.DesiredStateOfWorldPopulatorLoopSleepPeriod)
	}
}
