package migrate

import (
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// filling says what stands for the credentials of a vCenter in csi-vsphere.conf.
type filling func(*plan) (user, password string)

func given(p *plan) (user, password string) { return p.csi.User, p.csi.Password }
func withheld(p *plan) (user, password string) {
	if p.csi.User == "" {
		return "", ""
	}
	return Withheld, Withheld
}

// csiConfig is csi-vsphere.conf.
func (c *conversion) csiConfig(fill filling) string {
	var b strings.Builder
	b.WriteString(c.head("The configuration of the CSI driver."))
	if id := c.clusterID(); id != "" {
		b.WriteString("[Global]\n" + entry("cluster-id", id))
	}
	for _, p := range c.plans {
		b.WriteString("\n[VirtualCenter " + quotedINI(p.was.Server) + "]\n")
		if user, password := fill(p); user != "" {
			b.WriteString(entry("user", user) + entry("password", password))
		} else {
			b.WriteString("# user and password are needed here: those of " + credentialsIn(p.was) + "\n")
		}
		b.WriteString(entry("port", strconv.Itoa(p.was.Port)))
		b.WriteString(entry("insecure-flag", strconv.FormatBool(p.was.InsecureFlag)))
		b.WriteString(entry("ca-file", p.was.CAFile) + entry("thumbprint", p.was.Thumbprint))
		b.WriteString(entry("datacenters", strings.Join(p.was.Datacenters, ", ")))
	}
	if c.zones() {
		b.WriteString("\n[Labels]\n" + entry("topology-categories", c.cfg.Labels.Region+", "+c.cfg.Labels.Zone))
	}
	return b.String()
}

// clusterID is the one that was asked for, or the file's.
func (c *conversion) clusterID() string {
	if c.opts.ClusterID != "" {
		return c.opts.ClusterID
	}
	return c.value("Global", "cluster-id")
}

// credentialsIn says where a vCenter's credentials are.
func credentialsIn(vc config.VCenter) string {
	if vc.SecretsDirectory != "" {
		return "the directory " + oneLine(vc.SecretsDirectory)
	}
	return "the Secret " + oneLine(vc.Secret.Namespace+"/"+vc.Secret.Name)
}

// entry is a line of an INI file; none for a value that is empty.
func entry(key, value string) string {
	if value == "" {
		return ""
	}
	return key + " = " + quotedINI(value) + "\n"
}

func quotedINI(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value) + `"`
}

// csiSecret is the manifest of the Secret that holds csi-vsphere.conf.
func (c *conversion) csiSecret(conf string) []byte {
	var b strings.Builder
	b.WriteString(c.head("What the CSI driver mounts as /etc/cloud."))
	b.WriteString("apiVersion: v1\nkind: Secret\nmetadata:\n")
	b.WriteString("  name: " + csiSecret + "\n  namespace: " + csiNamespace + "\n")
	b.WriteString("type: Opaque\nstringData:\n  csi-vsphere.conf: |\n")
	b.WriteString(indented(conf, "    "))
	return []byte(b.String())
}
