package migrate

import "fmt"

// File is one new file.
type File struct {
	// Name has no folder in it.
	Name string
	Data []byte
	// Secret files hold credentials: nobody but their owner is to read them.
	Secret bool
	// Manifest files are YAML documents for kubectl apply.
	Manifest bool

	masked []byte
}

// Masked is the text with a note in the place of everything secret.
func (f File) Masked() []byte {
	if f.Secret {
		return f.masked
	}
	return f.Data
}

// Withheld stands in a masked text for what is secret.
const Withheld = "(not shown: it is in the files that are written to a folder)"

// files makes all of them but the report.
func (c *conversion) files() ([]File, error) {
	conf, err := c.cloudConfig()
	if err != nil {
		return nil, err
	}
	all := []File{{Name: "vsphere.conf", Data: conf}, {Name: "configmap.yaml", Data: c.configMap(conf), Manifest: true}}
	for _, p := range c.plans {
		if p.secret != nil {
			all = append(all, File{
				Name: "secret-" + p.secret.Name + ".yaml", Secret: true, Manifest: true,
				Data: c.secret(p, p.csi.User, p.csi.Password), masked: c.secret(p, Withheld, Withheld),
			})
		}
	}
	all = append(all, File{
		Name: "secret-" + csiSecret + ".yaml", Secret: true, Manifest: true,
		Data: c.csiSecret(c.csiConfig(given)), masked: c.csiSecret(c.csiConfig(withheld)),
	})
	if len(c.classes) == 0 {
		return all, nil
	}
	classes, err := c.classManifests()
	return append(all, File{Name: "storageclasses.yaml", Data: classes, Manifest: true}), err
}

// head is the comment at the beginning of a file.
func (c *conversion) head(what string) string {
	return fmt.Sprintf("# %s\n# Written by vsphere-sandbox migrate config.\n", what)
}
