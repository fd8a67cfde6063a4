package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate"
	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/explain"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
)

// Every command that reads a vsphere.conf reports the same about a file as the provider does: it can be used, or it has these
// errors. The files are those of generators and those that people posted. migrate also names what a conversion would lose, and
// commands that log in need a login that is in no Secret.
func TestFilesAlike(t *testing.T) {
	const corpus = "../../pkg/provider/config/testdata/"
	for dir, most := range map[string]int{"wild": 40, "reported": 25} {
		paths, err := filepath.Glob(corpus + dir + "/*.[iy]*")
		if err != nil || len(paths) < most {
			t.Fatalf("a corpus of %d files, %v", len(paths), err)
		}
		for _, path := range paths {
			t.Run(dir+"/"+filepath.Base(path), func(t *testing.T) { alike(t, path) })
		}
	}
}

func alike(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cfg, problems := provider.Check(path, data) // as the cloud controller manager reads it
	// says reports a command that does not end as the provider does, or leaves out something that it reports.
	says := func(command string, ok bool, text string, warnings bool) {
		t.Helper()
		if ok != (cfg != nil) {
			t.Errorf("%s: usable is %v, and for the provider it is %v: %s", command, ok, cfg != nil, text)
		}
		for _, p := range problems {
			if (!p.Warning && cfg == nil || p.Warning && warnings) && !strings.Contains(text, p.Message) {
				t.Errorf("%s is silent about: %s\n%s", command, p, text)
			}
		}
	}
	run := func(line ...string) {
		t.Helper()
		exit, text := execute(t, append(line, path)...)
		if exit != 0 && exit != report.Usage {
			t.Errorf("%v: exit status %d", line, exit)
		}
		says(strings.Join(line, " "), exit == 0, text, line[1] == "validate")
	}
	if !strings.HasPrefix(filepath.Base(path), "csi-") { // checked as the CSI driver's
		run("config", "validate")
	}
	run("config", "render")

	// Of a file that can be used, up, doctor, record and migrate roles make connections next.
	chosen, err := vcenterFlags(t, path)
	inSecret := err != nil && strings.Contains(err.Error(), "which only a cluster can read")
	if cfg == nil {
		run("up", "--vcenter-config")
		run("doctor", "--vcenter-config")
		run("record", "--vcenter-config")
		run("migrate", "roles", "--vcenter-config")
	} else if !inSecret {
		says("--vcenter-config", err == nil, "", false)
	}
	if chosen != nil && len(chosen.Warnings) != len(problems) {
		t.Errorf("--vcenter-config warns %q, and the provider %v", chosen.Warnings, problems)
	}

	answer := explain.Answer[*provider.Config]{}
	answer.Is, answer.Err = provider.LoadFile(path)
	says("explain node", answer.Err == nil, explained(answer), false)

	sayMigrate(t, path, data, says)
}

// vcenterFlags reads a file as the commands with --vcenter-config do.
func vcenterFlags(t *testing.T, path string) (*vcenter.Config, error) {
	t.Helper()
	var f vcenterconfig.Flags
	cmd := &cobra.Command{}
	f.Bind(cmd)
	if err := cmd.ParseFlags([]string{"--vcenter-config", path}); err != nil {
		t.Fatal(err)
	}
	chosen, err := f.Complete(func(string) string { return "" })
	if err != nil {
		return nil, err
	}
	return chosen.Config, nil
}

// explained is what explain answers about a node that waits for a cloud controller manager with that configuration.
func explained(config explain.Answer[*provider.Config]) string {
	c := explain.Node{Name: "w1", Node: explain.Answer[*corev1.Node]{Is: &corev1.Node{
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: corev1.TaintEffectNoSchedule}}},
	}}}
	c.Config = config
	var all strings.Builder
	for _, q := range c.Explain().Questions {
		all.WriteString(q.Ask + " " + q.Answer + "\n")
		for _, v := range q.Evidence {
			all.WriteString(v.What + ": " + v.Found + "\n")
		}
	}
	return all.String()
}

// sayMigrate compares what the conversion reports. A file in YAML is the new form already.
func sayMigrate(t *testing.T, path string, data []byte, says func(command string, ok bool, text string, warnings bool)) {
	t.Helper()
	m, err := migrate.Convert(migrate.Source{Name: path, Data: data}, migrate.Options{})
	refusal, refused := errors.AsType[*migrate.Refusal](err)
	switch {
	case refused && refusal.Code == "csi-config":
	case refused:
		says("migrate config", refusal.Code == "already-migrated" && len(refusal.Problems) == 0, err.Error(), false)
	case err != nil:
		says("migrate config", false, err.Error(), false)
	default:
		says("migrate config", true, "", false)
		_, problems := provider.Check(path, data)
		for _, p := range problems { // what the provider suspects of a value is left to check there, too
			if p.Suspect && !strings.Contains(m.Report.Text(), p.Message) {
				t.Errorf("migrate is silent about: %s", p)
			}
		}
	}
}
