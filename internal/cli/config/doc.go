// Package config is the commands about vsphere.conf, the configuration file of the vSphere cloud provider, as it is
// written: whether it is right, and what it comes to. They need no sandbox.
package config
