package provider

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestRunRefuses(t *testing.T) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "VSPHERE_") {
			t.Setenv(name, "")
		}
	}
	conf := filepath.Join(t.TempDir(), "vsphere.conf")
	if err := os.WriteFile(conf, []byte("global: {server: vc}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ args, want string }{
		{"--cloud-config=" + conf, "vsphere.conf:1: global.server: credentials are missing"},
		{"--cloud-config=/does/not/exist", "/does/not/exist: no such file or directory"},
		{"", "no vCenter: --cloud-config is missing, and neither VSPHERE_VCENTER nor VSPHERE_VCENTER_<id> is set"},
		{"--bogus", "unknown flag: --bogus"},
	} {
		if err := Run(t.Context(), strings.Fields(tc.args)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.args, err, tc.want)
		}
	}
}

// Without a file the environment is the configuration, with upstream's names.
func TestCloudConfigFromEnvironment(t *testing.T) {
	cmd, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := cmd.cloudConfig([]string{
		"VSPHERE_VCENTER=vc.example", "VSPHERE_USER=u", "VSPHERE_PASSWORD=p=q", "VSPHERE_LABEL_REGION=r", "VSPHERE_LABEL_ZONE=z",
		"VSPHERE_VCENTER_2=vc2.example", "VCENTER_2_USERNAME=u2", "VCENTER_2_PASSWORD=p2", "VCENTER_2_PORT=8443",
		"POD_NAME=ccm-1", "POD_NAMESPACE=kube-system", "POD_UID=42",
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.VCenters) != 2 || cfg.Labels.Zone != "z" {
		t.Fatalf("%+v", cfg)
	}
	for _, vc := range cfg.VCenters {
		want := [3]any{"u", "p=q", 443}
		if vc.Server == "vc2.example" {
			want = [3]any{"u2", "p2", 8443}
		}
		if got := [3]any{vc.User, vc.Password, vc.Port}; got != want {
			t.Errorf("%s: %v, want %v", vc.Server, got, want)
		}
	}
	if o := cmd.provider; o.ConfigFile != "" || o.Pod != (Pod{"kube-system", "ccm-1", "42"}) {
		t.Errorf("file %q, pod %+v", o.ConfigFile, o.Pod)
	}
	if _, err := cmd.cloudConfig([]string{"VSPHERE_VCENTER=vc.example"}); err == nil || !strings.Contains(err.Error(), "credentials are missing") {
		t.Errorf("without credentials: %v", err)
	}
}

func TestParse(t *testing.T) {
	cmd, err := parse([]string{
		"--cloud-config=/etc/cloud/vsphere.conf", "--kubeconfig=/k", "--leader-elect=false", "--v=2", "--concurrent-node-syncs=4",
		"--node-monitor-period=500ms", "--controllers=*,-service", "--vcenter-call-timeout=3s", "--vcenter-max-wait=7s",
		"--tag-refresh-period=6s", "--config-poll-period=1s", "--node-labels=a/b=c,d=", "--parity=upstream", "--relabel-zones",
		"--health-address=127.0.0.1:10267",
	})
	if err != nil {
		t.Fatal(err)
	}
	o := cmd.provider
	if o.CallTimeout != 3*time.Second || o.MaxWait != 7*time.Second || o.TagRefresh != 6*time.Second || o.ConfigPeriod != time.Second {
		t.Errorf("durations: %+v", o)
	}
	if o.Parity != ParityUpstream || !maps.Equal(o.NodeLabels, map[string]string{"a/b": "c", "d": ""}) {
		t.Errorf("parity %q, labels %v", o.Parity, o.NodeLabels)
	}
	if !cmd.relabelZones || cmd.healthAddress != "127.0.0.1:10267" {
		t.Errorf("relabel %v, health %q", cmd.relabelZones, cmd.healthAddress)
	}
	if got := cmd.ccm.NodeLifecycleController.NodeMonitorPeriod.Duration; got != 500*time.Millisecond {
		t.Errorf("node monitor period %s", got)
	}
}

// The defaults are upstream's, or right for production.
func TestParseDefaults(t *testing.T) {
	cmd, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	o := cmd.provider
	if o.CallTimeout != 10*time.Second || o.MaxWait != time.Minute || o.TagRefresh != 0 || o.ConfigPeriod != 2*time.Second {
		t.Errorf("durations: %+v", o)
	}
	if o.Parity != "" || len(o.NodeLabels) > 0 || cmd.relabelZones || cmd.healthAddress != "" {
		t.Errorf("not off: %+v, %v, %q", o, cmd.relabelZones, cmd.healthAddress)
	}
	if n := cmd.ccm.NodeController.ConcurrentNodeSyncs; n != 1 {
		t.Errorf("%d concurrent node syncs", n)
	}
	if !cmd.ccm.Generic.LeaderElection.LeaderElect || cmd.ccm.KubeCloudShared.CloudProvider.Name != "vsphere" {
		t.Errorf("leader election or provider: %+v", cmd.ccm.Generic.LeaderElection)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct {
		args string
		want string
	}{
		{"extra", `unexpected argument "extra"`},
		{"--cloud-provider=aws", `--cloud-provider is "aws"; use "vsphere", or "vsphere-paravirtual" in a guest cluster`},
		{"--no-such-flag", "unknown flag: --no-such-flag; --help lists all flags"},
		{"--tag-refresh-period=often", `invalid argument "often" for "--tag-refresh-period"`},
		{"--tag-refresh-period=10ms", "--tag-refresh-period is 10ms, less than 100ms"},
		{"--vcenter-call-timeout=-1s", "--vcenter-call-timeout is -1s, less than 100ms"},
		{"--vcenter-max-wait=900ms", "--vcenter-max-wait is 900ms, less than 1s"},
		{"--config-poll-period=1ms", "--config-poll-period is 1ms, less than 10ms"},
		{"--parity=in-tree", `--parity is "in-tree"; use "upstream" or leave it empty`},
		{"--node-labels=nothing", `invalid argument "nothing" for "--node-labels"`},
		{"--node-labels=a=b,-x=c", `--node-labels: node label "-x"`},
		{"--node-labels=a=b!", `--node-labels: node label "a": value "b!"`},
		{"--health-address=10267", `--health-address is "10267"; use a loopback address with a port`},
		{"--health-address=127.0.0.1:", `--health-address is "127.0.0.1:"`},
		{"--cloud-provider=vsphere-paravirtual --cluster-name=", "--cluster-name is empty"},
		{"--cloud-provider=vsphere-paravirtual --enable-vpc-mode", "--enable-vpc-mode needs --pod-ip-pool-type=Public or =Private"},
		{"--cloud-provider=vsphere-paravirtual --pod-ip-pool-type=Public", "--pod-ip-pool-type is set without --enable-vpc-mode"},
		{"--cloud-provider=vsphere-paravirtual --enable-vpc-mode --pod-ip-pool-type=public", `--pod-ip-pool-type is "public"; use Public or Private`},
		{"--cloud-provider=vsphere-paravirtual --cluster-ip-family=ipv4,ipv6", `--cluster-ip-family is "ipv4,ipv6"; use ipv4, ipv6, ipv4ipv6, ipv6ipv4`},
		{"--cloud-provider=vsphere-paravirtual --controllers=route", "--controllers has route, which needs --cluster-cidr"},
		{"--cloud-provider=vsphere-paravirtual --controllers=route --cluster-cidr=10.0.0.0/8 --cluster-ip-family=ipv6", "--cluster-ip-family=ipv6 with the route controller needs --enable-vpc-mode"},
		{"--cloud-provider=vsphere-paravirtual --parity=upstream", "--parity is for --cloud-provider=vsphere"},
		{"--cloud-provider=vsphere-paravirtual --cloud-config=/does/not/exist", "--cloud-config: open /does/not/exist"},
		{"--relabel-zones=perhaps", `invalid argument "perhaps" for "--relabel-zones"`},
	} {
		if _, err := parse(strings.Fields(tc.args)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.args, err, tc.want)
		}
	}
}

// Upstream starts the controller of Pod subnets with the route controller.
func TestRoutablePods(t *testing.T) {
	for args, want := range map[string]bool{
		"":                          false, // without a CIDR, the route controller cannot start
		"--cluster-cidr=10.0.0.0/8": true,
		"--cluster-cidr=10.0.0.0/8 --controllers=*,-route":              false,
		"--cluster-cidr=10.0.0.0/8 --controllers=service,cloud-node":    false,
		"--cluster-cidr=10.0.0.0/8 --controllers=service,route":         true,
		"--cluster-cidr=10.0.0.0/8 --controllers=node-route-controller": true,
		"--cluster-cidr=10.0.0.0/8 --configure-cloud-routes=false":      false,
	} {
		cmd, err := parse(append(strings.Fields(args), "--cloud-provider=vsphere-paravirtual"))
		if err != nil {
			t.Fatal(err)
		}
		if got := cmd.routablePods(); got != want {
			t.Errorf("%s: %v, want %v", args, got, want)
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, arg := range []string{"--help", "-h"} {
		cmd, err := parse([]string{arg, "extra"})
		if err != nil || !cmd.help {
			t.Fatalf("%s: %v", arg, err)
		}
		var b bytes.Buffer
		cmd.printHelp(&b)
		text := b.String()
		own := strings.Index(text, "Provider flags:")
		for _, want := range []string{
			"Usage:\n  vsphere-cloud-controller-manager --cloud-config=FILE", "--parity string", "--node-labels ", "--health-address string",
			"Generic flags:", "--cloud-config string", "Leader", "--version",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", arg, want, text)
			}
		}
		if own < 0 || own > strings.Index(text, "Generic flags:") {
			t.Errorf("%s: our own flags do not come first", arg)
		}
	}
	cmd, err := parse([]string{"--version"})
	if err != nil || !cmd.version {
		t.Fatal(err)
	}
	var b bytes.Buffer
	printVersion(&b)
	if !regexp.MustCompile(`^vsphere-cloud-controller-manager v\S+\n$`).MatchString(b.String()) {
		t.Errorf("version %q", b.String())
	}
}
