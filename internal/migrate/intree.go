package migrate

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

const (
	secretFirst = "had no effect: a Secret or a directory that is named comes first"
	halfSecret  = "had no effect: a Secret's name and namespace were needed together"
	noServer    = "had no effect: where there are sections of vCenters, those were all"
	noThumb     = "had no effect: where there are sections of vCenters, each says its own"
	oneOfTwo    = "had no effect: where no vCenter has a section, datacenter came first"
	lastOfTwo   = "had no effect beside a list of datacenters"
	zeroCount   = "0 says nothing: it was the global number, or 3"
)

// zero is a number that is one of the in-tree provider's for nothing being said.
var zero = regexp.MustCompile(`^(0[xX])?0+$`)

// asInTree notes what the in-tree provider made something else of than cloud-provider-vsphere does, whose reader
// [config.Check] is: the lines that it went past, and those of [Global] datacenter that were a list of datacenters. Source:
// populateVsphereInstanceMap in legacy-cloud-providers/vsphere/vsphere.go.
func (c *conversion) asInTree() {
	c.idle, c.listed = map[int]string{}, map[int]bool{}
	if c.dialect == OutOfTree {
		return
	}
	for _, s := range c.sections {
		for _, e := range s.Entries {
			if strings.EqualFold(e.Key, "soap-roundtrip-count") && zero.MatchString(e.Value) {
				c.idle[e.Line] = zeroCount
			}
		}
	}
	if c.dialect != InTree {
		return
	}
	name, namespace := c.value("Global", "secret-name") != "", c.value("Global", "secret-namespace") != ""
	for _, s := range c.sections {
		global := strings.EqualFold(s.Name, "Global")
		if !global && !strings.EqualFold(s.Name, "VirtualCenter") {
			continue
		}
		for _, e := range s.Entries {
			switch key := strings.ToLower(e.Key); {
			case !says(e):
			case (key == "user" || key == "password") && name && namespace:
				c.idle[e.Line] = secretFirst
			case (key == "secret-name" || key == "secret-namespace") && name != namespace:
				c.idle[e.Line] = halfSecret
			case global && c.hasVCenters():
				c.asBesideSections(key, e)
			case global:
				c.asAlone(key, e)
			}
		}
	}
	if len(c.listed) > 0 {
		c.passEmptyLists()
	}
}

// asBesideSections is about a global key where vCenters have sections.
func (c *conversion) asBesideSections(key string, e config.INIEntry) {
	switch {
	case key == "server" && !c.isSection(e.Value):
		c.idle[e.Line] = noServer
	case key == "thumbprint":
		c.idle[e.Line] = noThumb
	case key == "datacenter" && c.globalList():
		c.idle[e.Line] = lastOfTwo
	case key == "datacenter":
		c.listed[e.Line] = true
	}
}

// asAlone is about a global key where no vCenter has a section.
func (c *conversion) asAlone(key string, e config.INIEntry) {
	switch {
	case key == "datacenters" && c.value("Global", "datacenter") != "":
		c.idle[e.Line] = oneOfTwo
	case key == "datacenter":
		c.listed[e.Line] = true
	}
}

// passEmptyLists has a list that is empty not be one beside what is made of datacenter.
func (c *conversion) passEmptyLists() {
	for _, s := range c.sections {
		for _, e := range s.Entries {
			if strings.EqualFold(s.Name, "Global") && strings.EqualFold(e.Key, "datacenters") && !says(e) {
				c.idle[e.Line] = saysNothing
			}
		}
	}
}

// globalList is whether [Global] has a list of datacenters.
func (c *conversion) globalList() bool {
	return strings.Trim(c.value("Global", "datacenters"), " \t,") != ""
}

func (c *conversion) hasVCenters() bool {
	for _, s := range c.sections {
		if strings.EqualFold(s.Name, "VirtualCenter") {
			return true
		}
	}
	return false
}

// isSection is whether a vCenter's section has the name of a host.
func (c *conversion) isSection(host string) bool {
	for _, s := range c.sections {
		if strings.EqualFold(s.Name, "VirtualCenter") && config.SameHost(s.Sub, host) {
			return true
		}
	}
	return false
}

// asList is a line of datacenter as one of datacenters. A line begins with its key.
func asList(line []byte) []byte {
	end := len(line) - len(bytes.TrimLeft(line, " \t\r")) + len("datacenter")
	return append(append(bytes.Clone(line[:end]), 's'), line[end:]...)
}
