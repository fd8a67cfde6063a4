package migrate

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// nsxSecret is the name of the new Secret with the account at the NSX Manager.
const nsxSecret = "vsphere-nsx-secret"

// Reasons of what is not carried over.
const (
	noNSXT    = "has no effect, as before: no provider reads this section; that of the NSX Manager is [NSXT]"
	noTags    = "has no effect, as before: no provider reads this section; the tags of load balancers are the key tags of [LoadBalancer]"
	noEffect  = "has no effect, as before: the NSX Manager ([NSXT]) and what it is for ([LoadBalancer], [Route]) are needed together"
	otherWay  = "has no effect, as before: NSX is asked with another login of the section"
	underPods = "it was read on the machine, and is read in a pod now: it has to be mounted there"
)

// nsxSections are the sections about NSX, whose keys are those of the provider's configuration.
func nsxSections() []section {
	return []section{
		{name: "NSXT", readers: outside, judge: judgeNSX, keys: nsxKeys("nsxt", judgeNSXT)},
		{name: "LoadBalancer", readers: outside, judge: judgeBalancers, keys: nsxKeys("loadBalancer", judgeBalancer)},
		{name: "LoadBalancerClass", sub: true, readers: outside, judge: judgeClasses, keys: nsxKeys("loadBalancerClass", judgeClass)},
		{name: "Route", readers: outside, judge: judgeRoute, keys: nsxKeys("route", func(string) func(*conversion, located) judgment {
			return func(c *conversion, at located) judgment { return judgeRoute(c, nil).at(at, "routerPath") }
		})},
		{name: "NSX-T", readers: outside, idle: noNSXT},
		{name: "Tags", readers: outside, idle: noTags},
	}
}

// nsxKeys returns the keys of a section of vsphere.conf; judge gets their names in YAML.
func nsxKeys(of string, judge func(yaml string) func(*conversion, located) judgment) (keys []key) {
	for _, k := range config.Reference() {
		if k.Section == of && k.INI != "" {
			keys = append(keys, key{name: k.INI, readers: outside, judge: judge(k.YAML)})
		}
	}
	return keys
}

// keptIn is the judgment of a section that stays one if the configuration has it.
func keptIn(has bool, name string) judgment {
	if !has {
		return judgment{verdict: Dropped, why: noEffect}
	}
	return judgment{verdict: Kept, to: []string{toCloud + name}}
}

// at is the judgment of a key in the section that j is about.
func (j judgment) at(at located, yaml string) judgment {
	if empty(at) {
		return judgment{verdict: Dropped, why: saysNothing}
	}
	if j.verdict == Kept {
		j.to = []string{j.to[0] + "." + yaml}
	}
	return j
}

func judgeNSX(c *conversion, _ *plan) judgment { return keptIn(c.cfg.NSX != nil, "nsxt") }

func judgeBalancers(c *conversion, _ *plan) judgment {
	return keptIn(c.cfg.LoadBalancer != nil, "loadBalancer")
}

func judgeClasses(c *conversion, _ *plan) judgment {
	return keptIn(c.cfg.LoadBalancer != nil, "loadBalancerClass")
}

func judgeRoute(c *conversion, _ *plan) judgment { return keptIn(c.cfg.Route != nil, "route") }

func judgeBalancer(yaml string) func(*conversion, located) judgment {
	return func(c *conversion, at located) judgment { return judgeBalancers(c, nil).at(at, yaml) }
}

func judgeClass(yaml string) func(*conversion, located) judgment {
	return func(c *conversion, at located) judgment {
		if at.section.Sub == config.DefaultClass {
			return judgeBalancers(c, nil).at(at, yaml)
		}
		return keptIn(c.cfg.LoadBalancer != nil, "loadBalancerClass."+at.section.Sub).at(at, yaml)
	}
}

// judgeNSXT judges a key of the NSX Manager: of its logins one is in force.
func judgeNSXT(yaml string) func(*conversion, located) judgment {
	return func(c *conversion, at located) judgment {
		j := judgeNSX(c, nil).at(at, yaml)
		if j.verdict != Kept {
			return j
		}
		was := c.old.NSX
		for _, way := range []struct {
			inForce bool
			keys    []string
		}{
			{was.ClientAuthCertFile != "", []string{"clientAuthCertFile", "clientAuthKeyFile"}},
			{was.VMCAccessToken != "", []string{"vmcAccessToken", "vmcAuthHost"}},
			{was.Secret.Name != "", []string{"secretName", "secretNamespace"}},
			{was.User != "", []string{"user", "password"}},
		} {
			if slices.Contains(way.keys, yaml) && !way.inForce {
				return judgment{verdict: Dropped, why: otherWay}
			}
		}
		switch yaml {
		case "user", "password":
			part := strings.Replace(yaml, "user", "username", 1)
			return judgment{
				verdict: Moved, to: []string{"Secret: " + c.nsxSecret.Namespace + "/" + c.nsxSecret.Name + " " + part},
				why: "credentials are kept in Secrets, not in a file that is in a ConfigMap",
			}
		case "vmcAccessToken":
			j.why = "it can be in no Secret: the ConfigMap has it"
			c.attend("restrict who may read the ConfigMap " + cloudNamespace + "/" + cloudConfigMap + ": it has a token of VMware Cloud")
		case "caFile", "clientAuthCertFile", "clientAuthKeyFile":
			j.why = underPods
			c.attend("mount the file " + at.entry.Value + " into the pods of the cloud controller manager")
		}
		return j
	}
}

// planNSX replaces the account at the NSX Manager by a Secret.
func (c *conversion) planNSX(cfg *config.Config, taken map[config.SecretRef]bool) {
	if cfg.NSX == nil || cfg.NSX.User == "" {
		return
	}
	ref := newSecret(nsxSecret, "", 1, taken)
	now := *cfg.NSX
	now.Secret, now.User, now.Password = ref, "", ""
	c.nsxSecret, cfg.NSX = &ref, &now
}

// accountOfNSX returns the manifest of the Secret with the account at the NSX Manager.
func (c *conversion) accountOfNSX(user, password string) []byte {
	return []byte(c.head("The account of the cloud controller manager at the NSX Manager.") + secretManifest(*c.nsxSecret) +
		"  username: " + quoted(user) + "\n  password: " + quoted(password) + "\n")
}

// maskedNSX returns the configuration without the token of VMware Cloud, and whether it has one.
func (c *conversion) maskedNSX() (*config.Config, bool) {
	if c.cfg.NSX == nil || c.cfg.NSX.VMCAccessToken == "" {
		return c.cfg, false
	}
	masked, nsx := *c.cfg, *c.cfg.NSX
	nsx.VMCAccessToken = Withheld
	masked.NSX = &nsx
	return &masked, true
}

// verifyNSX reads the new Secret as the provider does.
func (c *conversion) verifyNSX(files []File) error {
	if c.nsxSecret == nil {
		return nil
	}
	data, err := c.dataOf(files, "secret-"+c.nsxSecret.Name+".yaml", "stringData")
	if err != nil {
		return err
	}
	if user, password, err := config.Account(data); err != nil || user != c.old.NSX.User || password != c.old.NSX.Password {
		return c.inexpressible("the account at the NSX Manager", "a Secret cannot hold it as it is: does it end in a newline?")
	}
	return nil
}
