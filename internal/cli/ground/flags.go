package ground

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/kubernetes"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/incluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
)

// The values of --cluster.
const (
	Embedded = "embedded"
	Kind     = "kind"
	Existing = "existing"
	// Pod is what the chart has "up" do in its pod: the cluster is the one that this is a pod of.
	Pod = "pod"
)

// kindAuto is the default of --kind-volumes: block devices where they are possible.
const kindAuto = "auto"

func kindVolumes() []string {
	return []string{kindAuto, kind.VolumesDevice, kind.VolumesDir}
}

// Flags are the flags. Bind them, and Check them before anything is touched.
type Flags struct {
	Cluster    string
	KindImage  string
	KindConfig string
	// KindVolumes is one of kindVolumes.
	KindVolumes string
	// Existing is where to put it in a cluster that is there, In what it is to know in its pod there.
	Existing ExistingOptions
	In       In
	// Watches: the sandbox is not put into the cluster of There. It is a process of this machine, which watches that cluster's nodes.
	Watches bool

	config  []byte // what is in KindConfig
	outside bool   // the flags of clusters that are there were bound
	pod     *incluster.Options
}

// Bind adds them to a command.
func (f *Flags) Bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Cluster, "cluster", Embedded, "Kubernetes cluster: embedded (local processes), kind (containers; needs Docker, Podman or nerdctl), or existing (a cluster of yours)")
	flags.StringVar(&f.KindImage, "kind-image", "", "kind: node image (default: see \"images list\")")
	flags.StringVar(&f.KindConfig, "kind-config", "", "kind: configuration file to merge into the generated one")
	flags.StringVar(&f.KindVolumes, "kind-volumes", kindAuto, "kind: volumes are device (block devices; needs root on Linux), dir (directories) or auto (device if possible)")
	// None can fail: the flags were added above.
	_ = cmd.RegisterFlagCompletionFunc("cluster", cobra.FixedCompletions([]string{Embedded, Kind, Existing}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("kind-image", complete.None)
	_ = cmd.RegisterFlagCompletionFunc("kind-volumes", cobra.FixedCompletions(kindVolumes(), cobra.ShellCompDirectiveNoFileComp))
}

// BindOutside adds those of a cluster that is there already, for a command that can put a sandbox there.
func (f *Flags) BindOutside(cmd *cobra.Command) {
	f.outside = true
	f.Existing.bind(cmd)
	f.In.bind(cmd)
}

// Check refuses what cannot be right, and reads the file.
func (f *Flags) Check() error {
	if err := f.misplaced(); err != nil {
		return err
	}
	switch f.Cluster {
	case Embedded, "":
		return nil
	case Kind:
		if v := f.KindVolumes; v != "" && !slices.Contains(kindVolumes(), v) {
			return report.UsageError("--kind-volumes dir", "--kind-volumes %s: want %s", v, strings.Join(kindVolumes(), ", "))
		}
		return f.readConfig()
	case Existing:
		if !f.outside {
			return report.UsageError("vsphere-sandbox up FILE --cluster existing --detach, then this with --on NAME", "--cluster existing: a sandbox is put there by \"up\"")
		}
		return f.Existing.check()
	case Pod:
		if !f.outside {
			break
		}
		var err error
		f.pod, err = f.In.pod(os.Getenv)
		return err
	}
	return report.UsageError("--cluster kind", "--cluster %s: want %s, %s or %s", f.Cluster, Embedded, Kind, Existing)
}

// misplaced refuses flags that are for another cluster than the one that was chosen.
func (f *Flags) misplaced() error {
	for _, of := range []string{Existing, Kind} {
		flags := f.given(of)
		for _, flag := range slices.Sorted(maps.Keys(flags)) {
			if value := flags[flag]; value != "" && f.Cluster != of {
				return report.UsageError("--cluster "+of+" "+flag+" "+value, "%s is for --cluster %s", flag, of)
			}
		}
	}
	return nil
}

// given are the flags of one value of --cluster, by name; "" is what is their default.
func (f *Flags) given(cluster string) map[string]string {
	if cluster == Kind {
		return map[string]string{"--kind-image": f.KindImage, "--kind-config": f.KindConfig, "--kind-volumes": f.kindVolumes()}
	}
	return f.Existing.given()
}

// kindVolumes is the flag's value, "" for the default.
func (f *Flags) kindVolumes() string {
	if f.KindVolumes == kindAuto {
		return ""
	}
	return f.KindVolumes
}

func (f *Flags) readConfig() error {
	if f.KindConfig == "" {
		return nil
	}
	var err error
	if f.config, err = input.File(f.KindConfig, input.MaxFile); errors.Is(err, fs.ErrNotExist) {
		return report.UsageError("--kind-config FILE, a configuration of kind's", "--kind-config %s: there is no such file", f.KindConfig)
	} else if err != nil {
		return report.UsageError("--kind-config FILE that you may read", "--kind-config: %v", err)
	}
	return nil
}

// Podded reports whether the cloud controller manager and the CSI driver run in the cluster, as pods.
func (f *Flags) Podded() bool { return f.Cluster == Kind || f.InCluster() }

// InCluster reports whether the sandbox runs as pods of a cluster that has other users.
func (f *Flags) InCluster() bool { return f.Installs() || f.Cluster == Pod }

// Installs reports whether this process puts the sandbox into a cluster that is there.
func (f *Flags) Installs() bool { return f.Cluster == Existing && !f.Watches }

// Of says it to a sandbox that runs in this process. retain keeps what was made when the boot fails.
func (f *Flags) Of(retain bool) sandbox.Cluster {
	switch f.Cluster {
	case Kind:
		return sandbox.Cluster{Kind: &kind.Options{Image: f.KindImage, Config: f.config, ConfigFile: f.KindConfig, Volumes: f.kindVolumes(), Retain: retain}}
	case Pod:
		return sandbox.Cluster{InCluster: f.pod}
	case Existing:
		return sandbox.Cluster{Existing: &existing.Options{Target: f.Existing.Target(), AllowController: f.Existing.AllowController}}
	}
	return sandbox.Cluster{}
}

// Kubernetes returns what kind of cluster it is for the flags about Kubernetes.
func (f *Flags) Kubernetes() kubernetes.Of {
	switch f.Cluster {
	case Embedded, "":
		return kubernetes.Embedded
	case Kind:
		return kubernetes.Kind
	}
	return kubernetes.Other
}

// ToArgs are the arguments that say the same to another process; none for the default.
func (f *Flags) ToArgs() []string {
	if f.Cluster == Embedded || f.Cluster == "" {
		return nil
	}
	args := []string{"--cluster=" + f.Cluster}
	for _, of := range []string{Existing, Kind} {
		flags := f.given(of)
		for _, flag := range slices.Sorted(maps.Keys(flags)) {
			if value := flags[flag]; value != "" {
				args = append(args, flag+"="+value)
			}
		}
	}
	return args
}
