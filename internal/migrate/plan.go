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

// plan is one vCenter during the conversion.
type plan struct {
	was config.VCenter
	// own are the keys that the vCenter's own section sets.
	own map[string]bool
	// secret is the new Secret for credentials in the old file; nil if the file has none.
	secret *config.SecretRef
	// csi are the credentials for csi-vsphere.conf; zero if unknown.
	csi config.Credentials
}

// plan decides the contents of vsphere.conf: the meaning of the old file, with Secrets in place of passwords.
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

// own returns the keys that have a value in the section of a vCenter.
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

// newSecret chooses a free name for a vCenter's Secret and adds it to taken.
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

// credentialKey returns the key of conversion.credentials for a Secret and a server.
func credentialKey(ref config.SecretRef, server string) string {
	return ref.Namespace + "/" + ref.Name + "/" + strings.ToLower(server)
}

// planNetwork chooses node addresses as the in-tree provider did, from its one network. cloud-provider-vsphere ignores the
// section.
func (c *conversion) planNetwork(cfg *config.Config) {
	if name := c.publicNetwork(); name != "" && c.dialect != OutOfTree {
		cfg.Nodes.InternalVMNetwork, cfg.Nodes.ExternalVMNetwork = name, name
	}
}

func (c *conversion) publicNetwork() string {
	return strings.TrimSpace(c.value("Network", "public-network"))
}

// value returns the value of a key in a section without a second name, or "".
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
