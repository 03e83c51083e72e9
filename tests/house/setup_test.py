"""tools/setup.sh asks dpkg first, and installs only as root or with sudo."""
import unittest

from stubs import House, NONE_INSTALLED


class Setup(unittest.TestCase):
    def test_touches_no_network_when_nothing_is_missing(self):
        with House() as house:
            done = house.setup("g++", "cmake")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(house.calls("apt-get"), [])

    def test_root_installs_exactly_what_is_missing(self):
        with House() as house:
            house.stub("dpkg-query", 'printf "installed=g++ config-files=cmake "; exit 1')
            done = house.setup("g++", "cmake", "ninja-build")
            self.assertEqual(done.returncode, 0, done.stderr)
            install = house.calls("apt-get")[-1]
            self.assertIn("install --no-install-recommends cmake ninja-build", install)
            self.assertNotIn("g++", install)

    def test_a_user_installs_through_sudo(self):
        with House() as house:
            house.stub("dpkg-query", NONE_INSTALLED)
            house.stub("id", "echo 1000")
            house.stub("sudo", '[ "$1" = -n ] && shift; exec "$@"')
            house.write(house.bin / "true", "true", "")
            done = house.setup("cmake")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(all("apt-get" in call or "-n true" in call for call in house.calls("sudo")))
            self.assertEqual(len(house.calls("apt-get")), 2)

    def test_neither_root_nor_sudo_gets_the_line_and_exit_2(self):
        for sudo in (None, "exit 1"):
            with House() as house:
                house.stub("dpkg-query", NONE_INSTALLED)
                house.stub("id", "echo 1000")
                if sudo:
                    house.stub("sudo", sudo)
                done = house.setup("cmake", "ninja-build")
                self.assertEqual(done.returncode, 2)
                self.assertIn("apt-get install -y --no-install-recommends cmake ninja-build\n", done.stderr)
                self.assertEqual(house.calls("apt-get"), [])

    def test_a_failing_update_alone_does_not_stop_it(self):
        with House() as house:
            house.stub("dpkg-query", NONE_INSTALLED)
            house.stub("apt-get", 'case "$*" in *update*) exit 100;; esac')
            self.assertEqual(house.setup("cmake").returncode, 0)

    def test_a_failing_install_ends_with_2_and_names_the_log(self):
        with House() as house:
            house.stub("dpkg-query", NONE_INSTALLED)
            house.stub("apt-get", 'case "$*" in *install*) echo "E: no such thing"; exit 100;; esac')
            done = house.setup("cmake")
            self.assertEqual(done.returncode, 2)
            self.assertIn("build/apt.log", done.stderr)
            self.assertIn("E: no such thing", done.stderr)


if __name__ == "__main__":
    unittest.main()
