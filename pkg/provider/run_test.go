package provider

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	cmd, err := parse([]string{
		"--cloud-config=/etc/cloud/vsphere.conf", "--kubeconfig=/k", "--leader-elect=false", "--v=2", "--concurrent-node-syncs=4",
		"--node-monitor-period=500ms", "--controllers=*,-service", "--vcenter-max-wait=7s", "--tag-refresh-period=6s",
	})
	if err != nil {
		t.Fatal(err)
	}
	if cmd.provider.MaxWait != 7*time.Second || cmd.provider.TagRefresh != 6*time.Second || cmd.provider.CallTimeout != 10*time.Second {
		t.Errorf("own flags: %+v", cmd.provider)
	}
	if got := cmd.ccm.KubeCloudShared.NodeMonitorPeriod.Duration; got != 500*time.Millisecond {
		t.Errorf("node monitor period %s", got)
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "--cloud-config is missing"},
		{[]string{"--cloud-config=x", "extra"}, `unexpected argument "extra"`},
		{[]string{"--cloud-config=x", "--cloud-provider=aws"}, `--cloud-provider is "aws"`},
		{[]string{"--no-such-flag"}, "no-such-flag"},
	} {
		if _, err := parse(tc.args); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: %v, want %q", tc.args, err, tc.want)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "vsphere.conf")
	if err := os.WriteFile(conf, []byte("global: {server: vc}"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := Run(t.Context(), []string{"--cloud-config=" + conf})
	if err == nil || !strings.Contains(err.Error(), "credentials are missing") {
		t.Errorf("got %v", err)
	}
}
