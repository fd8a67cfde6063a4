package vcenterconfig

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/real"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// Categories are the tag categories of regions and zones.
func Categories(c *vcenter.Config) inventory.Categories {
	return inventory.Categories{Region: c.Region, Zone: c.Zone}
}

// Unasked is an error for a flag that means nothing without --vcenter-config, which was not given.
func (f *Flags) Unasked(cmd *cobra.Command) error {
	if name := f.without(cmd.Flags()); name != "" && !f.Asked() {
		return report.UsageError("--vcenter-config FILE, or --vcenter-config "+Environment+" for govc's variables",
			"--%s is about real vCenters, and none is named", name)
	}
	return nil
}

// Complete reads the configuration and checks the flags; without --vcenter-config it reads the environment. getenv is
// os.Getenv or similar. Its errors are of package report, and have all problems of a file.
func (f *Flags) Complete(getenv func(string) string) (*real.Options, error) {
	if err := f.chosen.Selection.Check(); err != nil {
		return nil, report.UsageError("--datacenter NAME, --folder PATH, --pool PATH, --tag CATEGORY:TAG, --vm 'worker-*'", "selection of VMs: %v", err)
	}
	if err := f.checkScope(); err != nil {
		return nil, err
	}
	c := f.chosen
	var err error
	if f.config == "" || f.config == Environment {
		c.Config, err = vcenter.FromEnvironment(environ(getenv))
	} else if c.Config, err = vcenter.LoadFile(f.config); err == nil {
		c.Source, err = filepath.Abs(f.config)
	}
	if err != nil {
		return nil, f.unusable(err)
	}
	return &c, nil
}

// checkScope wants the two things that writes need: to be allowed, and somewhere.
func (f *Flags) checkScope() error {
	s := f.chosen.Scope
	named := len(s.Folders)+len(s.Tags) > 0
	switch {
	case s.AllowWrites && !named:
		return report.UsageError("--allow-writes --write-folder /dc/vm/k8s\n--allow-writes --write-tag CATEGORY:TAG",
			"--allow-writes allows nothing: it does not say to which VMs")
	case named && !s.AllowWrites:
		return report.UsageError("--allow-writes", "--write-folder and --write-tag have no effect without --allow-writes")
	}
	if f.chosen.Keep && !s.AllowWrites {
		return report.UsageError("--allow-writes", "--keep-writes has no effect without --allow-writes")
	}
	for _, folder := range s.Folders { // one that counts in every datacenter may be more than anybody thinks of
		if !strings.HasPrefix(folder, "/") {
			return report.UsageError("--write-folder /DATACENTER/vm/"+folder,
				"--write-folder %s: is written from the root, so that it is not one of each datacenter", folder)
		}
	}
	if err := s.Check(); err != nil {
		return report.UsageError("--write-folder /DATACENTER/vm/FOLDER\n--write-tag CATEGORY:TAG", "--write-folder, --write-tag: %v", err)
	}
	return nil
}

// unusable is the error for a configuration that does not name a vCenter.
func (f *Flags) unusable(err error) error {
	if f.config == "" || f.config == Environment {
		e := &report.Error{Code: "vcenter-config-invalid", Message: err.Error(), Exit: report.Usage}
		e.Try = "export GOVC_URL=HOST GOVC_USERNAME=USER GOVC_PASSWORD=…\n--vcenter-config FILE, a vsphere.conf"
		return e
	}
	e := &report.Error{Code: "vcenter-config-invalid", Message: err.Error(), Exit: report.Usage}
	if bad, ok := errors.AsType[*config.Error](err); ok {
		e.Message = f.config + " cannot be used\n" + strings.TrimSpace(bad.Error())
		e.Try = "vsphere-sandbox config validate " + f.config
	} else if _, ok := errors.AsType[*fs.PathError](err); ok {
		e.Code = "vcenter-config-unreadable"
		e.Try = "--vcenter-config FILE, a vsphere.conf with user and password\n--vcenter-config " + Environment + " for govc's variables"
	} else {
		e.Try = "vsphere-sandbox config validate " + f.config
	}
	return e
}

// environ are the variables of govc that count.
func environ(getenv func(string) string) []string {
	var all []string
	for _, name := range []string{
		"GOVC_URL", "GOVC_USERNAME", "GOVC_PASSWORD", "GOVC_INSECURE", "GOVC_DATACENTER", "GOVC_TLS_CA_CERTS", "GOVC_TLS_KNOWN_HOSTS",
	} {
		if value := getenv(name); value != "" {
			all = append(all, name+"="+value)
		}
	}
	return all
}
