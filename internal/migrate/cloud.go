package migrate

import "strings"

// cloudConfig is vsphere.conf.
func (c *conversion) cloudConfig() ([]byte, error) {
	text, err := c.cfg.YAML()
	if err != nil {
		return nil, err
	}
	return append([]byte(c.head("The configuration of the cloud controller manager.")), text...), nil
}

// configMap is the manifest of the ConfigMap that holds vsphere.conf.
func (c *conversion) configMap(conf []byte) []byte {
	var b strings.Builder
	b.WriteString(c.head("What the cloud controller manager mounts as /etc/cloud."))
	b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata:\n")
	b.WriteString("  name: " + cloudConfigMap + "\n  namespace: " + cloudNamespace + "\n")
	b.WriteString("data:\n  vsphere.conf: |\n")
	b.WriteString(indented(string(conf), "    "))
	return []byte(b.String())
}

// indented is text as it stands in a block of YAML.
func indented(text, by string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimRight(line, "\n") != "" {
			b.WriteString(by)
		}
		b.WriteString(line)
	}
	return b.String()
}
