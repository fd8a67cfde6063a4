// Package readers runs the reader of vsphere.conf in upstream's provider beside that of pkg/provider/config:
//   - over the files of pkg/provider/config/testdata/wild; what upstream makes of each is upstream.json there, with which the
//     tests of pkg/provider/config compare our reader;
//   - over generated configurations: what [config.Config.YAML] writes is the same configuration for both.
//
// It is a separate module, because upstream's module is no dependency of the project. go.mod names one release, and
// v1.34.mod another:
//
//	make readers
//	go -C test/readers test ./... -update
package readers
