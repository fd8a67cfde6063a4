package migrate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// Names of what the new files make in a cluster: upstream's.
const (
	cloudNamespace = "kube-system"
	cloudConfigMap = "vsphere-cloud-config"
	cloudSecret    = "vsphere-cloud-secret"
	csiNamespace   = "vmware-system-csi"
	csiSecret      = "vsphere-config-secret"
)

// plan is one vCenter on its way.
type plan struct {
	was config.VCenter
	// own are the keys that its own section sets.
	own map[string]bool
	// secret is the Secret that is made for credentials that were in the file; nil when they were not.
	secret *config.SecretRef
	// csi are the credentials for csi-vsphere.conf; zero when they are not known.
	csi config.Credentials
}

// plan decides what vsphere.conf is to mean: what the old file meant, with Secrets in place of passwords.
func (c *conversion) plan() {
	cfg := *c.old
	cfg.Format, cfg.Warnings = config.YAML, nil
	cfg.VCenters = slices.Clone(c.old.VCenters)
	taken := map[config.SecretRef]bool{}
	for _, vc := range c.old.VCenters {
		taken[vc.Secret] = true
	}
	for i := range cfg.VCenters {
		vc := &cfg.VCenters[i]
		p := &plan{was: c.old.VCenters[i], own: c.own(vc.Tenant)}
		switch {
		case vc.User != "":
			p.csi = config.Credentials{User: vc.User, Password: vc.Password}
			ref := newSecret(vc.Tenant, len(cfg.VCenters), taken)
			p.secret, vc.Secret, vc.User, vc.Password = &ref, ref, "", ""
		default:
			p.csi = c.credentials[credentialKey(vc.Secret, vc.Server)]
		}
		c.plans = append(c.plans, p)
	}
	c.planNetwork(&cfg)
	c.cfg = &cfg
}

// own are the keys that say something in the section of a vCenter.
func (c *conversion) own(tenant string) map[string]bool {
	keys := map[string]bool{}
	for _, s := range c.sections {
		if !strings.EqualFold(s.Name, "VirtualCenter") || s.Sub != tenant {
			continue
		}
		for _, e := range s.Entries {
			if _, idle := c.idle[e.Line]; says(e) && !idle {
				keys[strings.ToLower(e.Key)] = true
			}
		}
	}
	return keys
}

var unnamable = regexp.MustCompile(`[^a-z0-9]+`)

// newSecret names the Secret for a vCenter's credentials, and takes the name.
func newSecret(tenant string, of int, taken map[config.SecretRef]bool) config.SecretRef {
	const longest = 200
	name := cloudSecret
	if slug := strings.Trim(unnamable.ReplaceAllString(strings.ToLower(tenant), "-"), "-"); of > 1 && slug != "" {
		name += "-" + slug[:min(len(slug), longest)]
	}
	ref := config.SecretRef{Namespace: cloudNamespace, Name: name}
	for n := 2; taken[ref]; n++ {
		ref.Name = fmt.Sprintf("%s-%d", name, n)
	}
	taken[ref] = true
	return ref
}

// credentialKey is how the credentials that manifests tell of are found.
func credentialKey(ref config.SecretRef, server string) string {
	return ref.Namespace + "/" + ref.Name + "/" + strings.ToLower(server)
}

// planNetwork has addresses chosen as the in-tree provider did, from the one network that it was given. In a file of
// cloud-provider-vsphere the section was not looked at.
func (c *conversion) planNetwork(cfg *config.Config) {
	if name := c.publicNetwork(); name != "" && c.dialect != OutOfTree {
		cfg.Nodes.InternalVMNetwork, cfg.Nodes.ExternalVMNetwork = name, name
	}
}

func (c *conversion) publicNetwork() string {
	return strings.TrimSpace(c.value("Network", "public-network"))
}

// value is that of a key of a section without a second name; empty when there is none.
func (c *conversion) value(section, key string) string {
	for _, s := range c.sections {
		if !strings.EqualFold(s.Name, section) || s.HasSub {
			continue
		}
		for _, e := range s.Entries {
			if strings.EqualFold(e.Key, key) {
				return e.Value
			}
		}
	}
	return ""
}
