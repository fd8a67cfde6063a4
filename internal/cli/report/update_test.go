package report_test

import _ "github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest" // the -update flag, which every package here is given
