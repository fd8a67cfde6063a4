package kubernetes

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// knobs are the flags that change the components of the cluster.
type knobs struct {
	contract.Knobs

	gates []string // as typed
}

// listFlag is a flag that takes several values, or one.
type listFlag struct {
	name, usage string
	values      *[]string
}

// fileFlag is a flag that takes a path.
type fileFlag struct {
	name, usage string
	path        *string
}

func (k *knobs) lists() []listFlag {
	return []listFlag{
		{"apiserver-arg", "flag of kube-apiserver: `NAME=VALUE`; repeatable", &k.APIServer},
		{"controller-manager-arg", "flag of kube-controller-manager: `NAME=VALUE`; repeatable", &k.ControllerManager},
		{"scheduler-arg", "flag of kube-scheduler: `NAME=VALUE`; repeatable", &k.Scheduler},
		{"feature-gates", "feature gates of all components: `NAME=BOOL`, separated by commas", &k.gates},
		{"runtime-config", "APIs to enable or disable: `GROUP/VERSION=BOOL`, separated by commas", &k.RuntimeConfig},
	}
}

func (k *knobs) files() []fileFlag {
	return []fileFlag{
		{"audit-policy", "audit policy of the API server; \"logs audit\" prints the log", &k.AuditPolicy},
		{"scheduler-config", "KubeSchedulerConfiguration", &k.SchedulerConfig},
		{"admission-config", "AdmissionConfiguration of the API server", &k.AdmissionConfig},
	}
}

func (k *knobs) bind(cmd *cobra.Command) {
	for _, l := range k.lists() {
		if strings.HasSuffix(l.name, "-arg") {
			cmd.Flags().StringArrayVar(l.values, l.name, nil, l.usage)
		} else {
			cmd.Flags().StringSliceVar(l.values, l.name, nil, l.usage)
		}
	}
	for _, f := range k.files() {
		cmd.Flags().StringVar(f.path, f.name, "", "`FILE`: "+f.usage)
	}
}

// first returns the name of a flag that is set, or "".
func (k *knobs) first() string {
	for _, l := range k.lists() {
		if len(*l.values) > 0 {
			return l.name
		}
	}
	return k.firstFile()
}

// firstFile returns the name of a flag with a file that is set, or "".
func (k *knobs) firstFile() string {
	for _, f := range k.files() {
		if *f.path != "" {
			return f.name
		}
	}
	return ""
}

// after returns the knobs with the settings of a topology before them: those of flags count more.
func (k knobs) after(t topology.Kubernetes) knobs {
	gates := maps.Clone(t.FeatureGates)
	if gates == nil {
		gates = map[string]bool{}
	}
	maps.Copy(gates, k.FeatureGates)
	if len(gates) > 0 {
		k.FeatureGates = gates
	}
	k.RuntimeConfig = slices.Concat(pairs(t.RuntimeConfig), k.RuntimeConfig)
	return k
}

// pairs returns NAME=BOOL, sorted.
func pairs(m map[string]bool) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, name+"="+strconv.FormatBool(m[name]))
	}
	return list
}

// complete reads what can be read without a Kubernetes program.
func (k *knobs) complete() error {
	if len(k.gates) > 0 {
		k.FeatureGates = map[string]bool{}
	}
	for _, gate := range k.gates {
		name, value, _ := strings.Cut(gate, "=")
		on, err := strconv.ParseBool(value)
		if name == "" || err != nil {
			return report.UsageError("--feature-gates "+name+"=true", "--feature-gates %s: want NAME=true or NAME=false", gate)
		}
		k.FeatureGates[strings.TrimSpace(name)] = on
	}
	for _, f := range k.files() {
		if *f.path == "" {
			continue
		}
		path, err := filepath.Abs(*f.path)
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return report.UsageError("--"+f.name+" FILE", "--%s %s: there is no such file", f.name, *f.path)
		case !info.Mode().IsRegular(): // a restart reads it again, which a pipe does not survive
			return report.UsageError("--"+f.name+" FILE", "--%s %s: is not a regular file", f.name, *f.path)
		}
		*f.path = path
	}
	return nil
}

// toArgs are the arguments that say the same to another process.
func (k *knobs) toArgs() []string {
	var args []string
	for _, l := range k.lists() {
		for _, v := range *l.values {
			args = append(args, "--"+l.name, v)
		}
	}
	for _, f := range k.files() {
		if *f.path != "" {
			args = append(args, "--"+f.name, *f.path)
		}
	}
	return args
}
